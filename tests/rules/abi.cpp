// SPDX-License-Identifier: MIT
// What wavetap declares of the HSA ABI against the distribution's headers. C++, because
// hsa_api_trace.h declares its tables with decltype.
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/amd_hsa_signal.h>

#include "abi.h"

namespace ours {
#include "capture/sources/hsa/abi.h"
}

static int checked;

extern "C" int abi__same(const char *what, unsigned long ours, unsigned long theirs)
{
	checked++;
	if (ours == theirs)
		return 0;
	printf("%s: ours %#lx, the distribution's %#lx\n", what, ours, theirs);
	return 1;
}

#define SAME(ours_value, theirs_value)                                                             \
	bad += abi__same(#theirs_value, (unsigned long)(ours_value), (unsigned long)(theirs_value))

static int check_tables()
{
	int bad = 0;
	const bool old_order = sizeof(AmdExtTable) < HSA_AMD_INSERTED_SIZE;
#define CORE_ENTRY(name, index)                                                                    \
	bad += abi__same("CoreApiTable." #name,                                                    \
		offsetof(ours::hsa_table, fn) + 8ul * (index), offsetof(CoreApiTable, name##_fn));
	HSA_CORE_ENTRIES(CORE_ENTRY)
#define AMD_ENTRY(name, index)                                                                     \
	bad += abi__same("AmdExtTable." #name,                                                     \
		offsetof(ours::hsa_table, fn) +                                                    \
			8ul * ((index) + ((index) >= HSA_AMD_INSERTED_AT && !old_order ? 2 : 0)),  \
		offsetof(AmdExtTable, name##_fn));
	HSA_AMD_ENTRIES(AMD_ENTRY)
	HSA_AMD_WRAPPED_ENTRIES(AMD_ENTRY)
#if HSA_AMD_INTERFACE_VERSION_MAJOR > 1 || HSA_AMD_INTERFACE_VERSION_MINOR >= 2
	HSA_AMD_LATER_ENTRIES(AMD_ENTRY)
#endif
	SAME(offsetof(ours::hsa_api_table, core), offsetof(HsaApiTable, core_));
	SAME(offsetof(ours::hsa_api_table, amd_ext), offsetof(HsaApiTable, amd_ext_));
	SAME(offsetof(ours::hsa_api_table, finalizer_ext), offsetof(HsaApiTable, finalizer_ext_));
	SAME(offsetof(ours::hsa_api_table, image_ext), offsetof(HsaApiTable, image_ext_));
	SAME(offsetof(ours::hsa_table_version, major), offsetof(ApiTableVersion, major_id));
	SAME(offsetof(ours::hsa_table_version, minor), offsetof(ApiTableVersion, minor_id));
	SAME(sizeof(ours::hsa_table_version), sizeof(ApiTableVersion));
	return bad;
}

static int check_structs()
{
	int bad = 0;
	SAME(sizeof(ours::hsa_queue), sizeof(hsa_queue_t));
	SAME(offsetof(ours::hsa_queue, base_address), offsetof(hsa_queue_t, base_address));
	SAME(offsetof(ours::hsa_queue, doorbell_signal), offsetof(hsa_queue_t, doorbell_signal));
	SAME(offsetof(ours::hsa_queue, size), offsetof(hsa_queue_t, size));
	SAME(offsetof(ours::hsa_queue, id), offsetof(hsa_queue_t, id));
	SAME(AMD_QUEUE_WRITE_INDEX, abi__queue_write_index());
	SAME(AMD_QUEUE_READ_INDEX, abi__queue_read_index());

	typedef ours::hsa_dispatch_packet packet;
	typedef hsa_kernel_dispatch_packet_t their_packet;
	SAME(sizeof(packet), sizeof(their_packet));
	SAME(offsetof(packet, setup), offsetof(their_packet, setup));
	SAME(offsetof(packet, workgroup), offsetof(their_packet, workgroup_size_x));
	SAME(offsetof(packet, grid), offsetof(their_packet, grid_size_x));
	SAME(offsetof(packet, private_segment_size), offsetof(their_packet, private_segment_size));
	SAME(offsetof(packet, group_segment_size), offsetof(their_packet, group_segment_size));
	SAME(offsetof(packet, kernel_object), offsetof(their_packet, kernel_object));
	SAME(offsetof(packet, kernarg_address), offsetof(their_packet, kernarg_address));
	SAME(offsetof(packet, completion_signal), offsetof(their_packet, completion_signal));
	SAME(sizeof(ours::hsa_copy_time), sizeof(hsa_amd_profiling_async_copy_time_t));
	SAME(offsetof(ours::hsa_copy_time, end),
		offsetof(hsa_amd_profiling_async_copy_time_t, end));
	SAME(sizeof(ours::hsa_pointer_info), sizeof(hsa_amd_pointer_info_t));
	SAME(offsetof(ours::hsa_pointer_info, type), offsetof(hsa_amd_pointer_info_t, type));
	SAME(offsetof(ours::hsa_pointer_info, gpu_base),
		offsetof(hsa_amd_pointer_info_t, agentBaseAddress));
	SAME(offsetof(ours::hsa_pointer_info, host_base),
		offsetof(hsa_amd_pointer_info_t, hostBaseAddress));
	SAME(offsetof(ours::hsa_pointer_info, bytes), offsetof(hsa_amd_pointer_info_t, sizeInBytes));
	SAME(offsetof(ours::hsa_pointer_info, owner), offsetof(hsa_amd_pointer_info_t, agentOwner));
	return bad;
}

static int check_values()
{
	int bad = 0;
	SAME(HSA_OK, HSA_STATUS_SUCCESS);
	SAME(HSA_INFO_BREAK, HSA_STATUS_INFO_BREAK);
	SAME(HSA_ERROR, HSA_STATUS_ERROR);
	SAME(AMD_SIGNAL_DOORBELL, AMD_SIGNAL_KIND_DOORBELL);
	SAME(AMD_SIGNAL_LEGACY_DOORBELL, AMD_SIGNAL_KIND_LEGACY_DOORBELL);
	SAME(ours::HSA_PACKET_VENDOR, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
	SAME(ours::HSA_PACKET_INVALID, HSA_PACKET_TYPE_INVALID);
	SAME(ours::HSA_PACKET_DISPATCH, HSA_PACKET_TYPE_KERNEL_DISPATCH);
	SAME(ours::HSA_PACKET_BARRIER_AND, HSA_PACKET_TYPE_BARRIER_AND);
	SAME(ours::HSA_PACKET_AGENT, HSA_PACKET_TYPE_AGENT_DISPATCH);
	SAME(ours::HSA_PACKET_BARRIER_OR, HSA_PACKET_TYPE_BARRIER_OR);
	SAME(HSA_HEADER_BARRIER_BIT, HSA_PACKET_HEADER_BARRIER);
	SAME(HSA_HEADER_ACQUIRE_BIT, HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE);
	SAME(HSA_HEADER_RELEASE_BIT, HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
	SAME(HSA_FENCE_SYSTEM, HSA_FENCE_SCOPE_SYSTEM);
	SAME(ours::HSA_AGENT_NAME, HSA_AGENT_INFO_NAME);
	SAME(ours::HSA_AGENT_NODE, HSA_AGENT_INFO_NODE);
	SAME(ours::HSA_AGENT_DEVICE, HSA_AGENT_INFO_DEVICE);
	SAME(ours::HSA_AGENT_COMPUTE_UNITS, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
	SAME(ours::HSA_AGENT_CLOCK_MHZ, HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY);
	SAME(ours::HSA_AGENT_DRIVER_NODE, HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
	SAME(ours::HSA_AGENT_BDFID, HSA_AMD_AGENT_INFO_BDFID);
	SAME(ours::HSA_AGENT_PRODUCT_NAME, HSA_AMD_AGENT_INFO_PRODUCT_NAME);
	SAME(ours::HSA_AGENT_UUID, HSA_AMD_AGENT_INFO_UUID);
	SAME(HSA_DEVICE_GPU, HSA_DEVICE_TYPE_GPU);
	SAME(ours::HSA_AGENT_WAVEFRONT_SIZE, HSA_AGENT_INFO_WAVEFRONT_SIZE);
	SAME(ours::HSA_AGENT_WORKGROUP_MAX, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
	SAME(ours::HSA_AGENT_CACHES, HSA_AGENT_INFO_CACHE_SIZE);
	SAME(ours::HSA_AGENT_CHIP_ID, HSA_AMD_AGENT_INFO_CHIP_ID);
	SAME(ours::HSA_AGENT_MEMORY_WIDTH, HSA_AMD_AGENT_INFO_MEMORY_WIDTH);
	SAME(ours::HSA_AGENT_MEMORY_CLOCK_MHZ, HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY);
	SAME(ours::HSA_AGENT_WAVES_PER_CU, HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU);
	SAME(ours::HSA_AGENT_SIMDS_PER_CU, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU);
	SAME(ours::HSA_AGENT_SHADER_ENGINES, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES);
	SAME(ours::HSA_AGENT_DOMAIN, HSA_AMD_AGENT_INFO_DOMAIN);
	SAME(ours::HSA_AGENT_ASIC_REVISION, HSA_AMD_AGENT_INFO_ASIC_REVISION);
	SAME(ours::HSA_POOL_SEGMENT, HSA_AMD_MEMORY_POOL_INFO_SEGMENT);
	SAME(ours::HSA_POOL_SIZE, HSA_AMD_MEMORY_POOL_INFO_SIZE);
	SAME(HSA_SEGMENT_GLOBAL, HSA_AMD_SEGMENT_GLOBAL);
	SAME(HSA_SEGMENT_GROUP, HSA_AMD_SEGMENT_GROUP);
	SAME(ours::HSA_ISA_NAME_LENGTH, HSA_ISA_INFO_NAME_LENGTH);
	SAME(ours::HSA_ISA_NAME, HSA_ISA_INFO_NAME);
	SAME(HSA_EXTENSION_LOADER, HSA_EXTENSION_AMD_LOADER);
	SAME(offsetof(ours::hsa_loader, loaded_code_get_info),
		offsetof(hsa_ven_amd_loader_1_01_pfn_t,
			hsa_ven_amd_loader_loaded_code_object_get_info));
	SAME(ours::HSA_LOADED_CODE_BASE,
		HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE);
	SAME(ours::HSA_LOADED_CODE_SIZE,
		HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE);
	SAME(ours::HSA_SYMBOL_TYPE, HSA_EXECUTABLE_SYMBOL_INFO_TYPE);
	SAME(ours::HSA_SYMBOL_NAME_LENGTH, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH);
	SAME(ours::HSA_SYMBOL_NAME, HSA_EXECUTABLE_SYMBOL_INFO_NAME);
	SAME(ours::HSA_SYMBOL_KERNEL_OBJECT, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
	SAME(ours::HSA_SYMBOL_KERNARG_SIZE,
		HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
	SAME(ours::HSA_SYMBOL_GROUP_SIZE, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
	SAME(ours::HSA_SYMBOL_PRIVATE_SIZE,
		HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
	SAME(HSA_SYMBOL_IS_KERNEL, HSA_SYMBOL_KIND_KERNEL);
	SAME(ours::HSA_LOADED_CODE_AGENT, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT);
	SAME(ours::HSA_LOADED_CODE_ADDRESS, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
	SAME(ours::HSA_LOADED_CODE_BYTES, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE);
	SAME(HSA_DEVICE_CPU, HSA_DEVICE_TYPE_CPU);
	SAME(HSA_POINTER_UNKNOWN, HSA_EXT_POINTER_TYPE_UNKNOWN);
	SAME(HSA_POINTER_LOCKED, HSA_EXT_POINTER_TYPE_LOCKED);
	SAME(HSA_EXTENSION_LOADER, HSA_EXTENSION_AMD_LOADER);
	return bad;
}

int main()
{
	int bad = check_tables() + check_structs() + check_values() + abi__check_slot();

	printf("%d facts checked, %d wrong\n", checked, bad);
	return bad != 0 || checked < 50;
}
