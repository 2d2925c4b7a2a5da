// SPDX-License-Identifier: MIT
/* The virtual GPU's own declarations against the distribution's headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include "abi.h"
#include "model.h"

#define SAME(ours, our_field, theirs, their_field)                                                 \
	do {                                                                                       \
		assert_int_equal(offsetof(ours, our_field), offsetof(theirs, their_field));        \
		assert_int_equal(                                                                  \
			sizeof(((ours *)0)->our_field), sizeof(((theirs *)0)->their_field));       \
	} while (0)

/*
 * DRM structures grow at their ends, and driver and library agree on the shorter one: ours ends
 * with the field that ends it, and theirs may go on.
 */
#define BEGINNING(ours, last_field, theirs, their_last_field)                                      \
	do {                                                                                       \
		SAME(ours, last_field, theirs, their_last_field);                                  \
		assert_int_equal(sizeof(ours),                                                     \
			offsetof(ours, last_field) + sizeof(((ours *)0)->last_field));             \
		assert_true(sizeof(theirs) >= sizeof(ours));                                       \
	} while (0)

static void signals_and_queues(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct abi_signal), sizeof(amd_signal_t));
	SAME(struct abi_signal, kind, amd_signal_t, kind);
	SAME(struct abi_signal, value, amd_signal_t, value);
	SAME(struct abi_signal, event_mailbox_ptr, amd_signal_t, event_mailbox_ptr);
	SAME(struct abi_signal, event_id, amd_signal_t, event_id);
	SAME(struct abi_signal, start_ts, amd_signal_t, start_ts);
	SAME(struct abi_signal, end_ts, amd_signal_t, end_ts);
	SAME(struct abi_signal, queue_ptr, amd_signal_t, queue_ptr);

	assert_int_equal(sizeof(struct abi_queue), sizeof(amd_queue_t));
	SAME(struct abi_queue, base_address, amd_queue_t, hsa_queue.base_address);
	SAME(struct abi_queue, doorbell_signal, amd_queue_t, hsa_queue.doorbell_signal);
	SAME(struct abi_queue, size, amd_queue_t, hsa_queue.size);
	SAME(struct abi_queue, id, amd_queue_t, hsa_queue.id);
	SAME(struct abi_queue, write_dispatch_id, amd_queue_t, write_dispatch_id);
	SAME(struct abi_queue, read_dispatch_id, amd_queue_t, read_dispatch_id);
	SAME(struct abi_queue, queue_properties, amd_queue_t, queue_properties);
	SAME(struct abi_queue, queue_inactive_signal, amd_queue_t, queue_inactive_signal);
	assert_int_equal(ABI_QUEUE_PROFILING, AMD_QUEUE_PROPERTIES_ENABLE_PROFILING);
}

static void packets(void **state)
{
	(void)state;
	SAME(struct abi_dispatch_packet, header, hsa_kernel_dispatch_packet_t, header);
	assert_int_equal(offsetof(struct abi_dispatch_packet, workgroup),
		offsetof(hsa_kernel_dispatch_packet_t, workgroup_size_x));
	assert_int_equal(offsetof(struct abi_dispatch_packet, grid),
		offsetof(hsa_kernel_dispatch_packet_t, grid_size_x));
	SAME(struct abi_dispatch_packet, private_segment_size, hsa_kernel_dispatch_packet_t,
		private_segment_size);
	SAME(struct abi_dispatch_packet, group_segment_size, hsa_kernel_dispatch_packet_t,
		group_segment_size);
	SAME(struct abi_dispatch_packet, kernel_object, hsa_kernel_dispatch_packet_t,
		kernel_object);
	SAME(struct abi_dispatch_packet, kernarg_address, hsa_kernel_dispatch_packet_t,
		kernarg_address);
	SAME(struct abi_dispatch_packet, completion_signal, hsa_kernel_dispatch_packet_t,
		completion_signal);
	SAME(struct abi_barrier_packet, dep_signal, hsa_barrier_and_packet_t, dep_signal);
	SAME(struct abi_barrier_packet, dep_signal, hsa_barrier_or_packet_t, dep_signal);
	SAME(struct abi_barrier_packet, completion_signal, hsa_barrier_and_packet_t,
		completion_signal);
	SAME(struct abi_barrier_value_packet, format, hsa_amd_barrier_value_packet_t,
		header.AmdFormat);
	SAME(struct abi_barrier_value_packet, signal, hsa_amd_barrier_value_packet_t, signal);
	SAME(struct abi_barrier_value_packet, value, hsa_amd_barrier_value_packet_t, value);
	SAME(struct abi_barrier_value_packet, mask, hsa_amd_barrier_value_packet_t, mask);
	SAME(struct abi_barrier_value_packet, cond, hsa_amd_barrier_value_packet_t, cond);
	SAME(struct abi_barrier_value_packet, completion_signal, hsa_amd_barrier_value_packet_t,
		completion_signal);
	/* A barrier-value packet's completion signal is where every packet has it. */
	assert_int_equal(offsetof(struct abi_barrier_value_packet, completion_signal),
		offsetof(struct abi_barrier_packet, completion_signal));
	assert_int_equal(offsetof(struct abi_dispatch_packet, completion_signal),
		offsetof(struct abi_barrier_packet, completion_signal));
}

static void constants(void **state)
{
	(void)state;
	assert_int_equal(ABI_PACKET_VENDOR, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
	assert_int_equal(ABI_PACKET_INVALID, HSA_PACKET_TYPE_INVALID);
	assert_int_equal(ABI_PACKET_DISPATCH, HSA_PACKET_TYPE_KERNEL_DISPATCH);
	assert_int_equal(ABI_PACKET_BARRIER_AND, HSA_PACKET_TYPE_BARRIER_AND);
	assert_int_equal(ABI_PACKET_AGENT, HSA_PACKET_TYPE_AGENT_DISPATCH);
	assert_int_equal(ABI_PACKET_BARRIER_OR, HSA_PACKET_TYPE_BARRIER_OR);
	assert_int_equal(ABI_HEADER_BARRIER_BIT, 1 << HSA_PACKET_HEADER_BARRIER);
	assert_int_equal(HSA_PACKET_HEADER_TYPE, 0);
	assert_int_equal(ABI_VENDOR_BARRIER_VALUE, HSA_AMD_PACKET_TYPE_BARRIER_VALUE);
	assert_int_equal(ABI_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ);
	assert_int_equal(ABI_CONDITION_NE, HSA_SIGNAL_CONDITION_NE);
	assert_int_equal(ABI_CONDITION_LT, HSA_SIGNAL_CONDITION_LT);
	assert_int_equal(ABI_CONDITION_GTE, HSA_SIGNAL_CONDITION_GTE);
}

static void drm(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct abi_drm_version), sizeof(struct drm_version));
	SAME(struct abi_drm_version, name_len, struct drm_version, name_len);
	SAME(struct abi_drm_version, desc, struct drm_version, desc);
	assert_int_equal(sizeof(struct abi_drm_get_cap), sizeof(struct drm_get_cap));
	assert_int_equal(sizeof(struct abi_drm_client), sizeof(struct drm_client));
	SAME(struct abi_drm_client, auth, struct drm_client, auth);
	assert_int_equal(sizeof(struct abi_drm_prime_handle), sizeof(struct drm_prime_handle));
	SAME(struct abi_drm_prime_handle, fd, struct drm_prime_handle, fd);
	assert_int_equal(sizeof(struct abi_amdgpu_info_args), sizeof(struct drm_amdgpu_info));
	SAME(struct abi_amdgpu_info_args, return_size, struct drm_amdgpu_info, return_size);
	assert_int_equal(offsetof(struct abi_amdgpu_info_args, params),
		offsetof(struct drm_amdgpu_info, query_hw_ip.type));
	assert_int_equal(offsetof(struct abi_amdgpu_info_args, params),
		offsetof(struct drm_amdgpu_info, query_fw.fw_type));
	assert_int_equal(sizeof(struct abi_amdgpu_hw_ip), sizeof(struct drm_amdgpu_info_hw_ip));
	SAME(struct abi_amdgpu_hw_ip, ib_start_alignment, struct drm_amdgpu_info_hw_ip,
		ib_start_alignment);
	SAME(struct abi_amdgpu_hw_ip, available_rings, struct drm_amdgpu_info_hw_ip,
		available_rings);
	assert_int_equal(
		sizeof(struct abi_amdgpu_firmware), sizeof(struct drm_amdgpu_info_firmware));
	SAME(struct abi_amdgpu_info_args, query, struct drm_amdgpu_info, query);
	assert_int_equal(sizeof(struct abi_amdgpu_gem_mmap), sizeof(union drm_amdgpu_gem_mmap));
	BEGINNING(struct abi_amdgpu_gem_va, map_size, struct drm_amdgpu_gem_va, map_size);
	SAME(struct abi_amdgpu_gem_va, operation, struct drm_amdgpu_gem_va, operation);
	SAME(struct abi_amdgpu_gem_va, va_address, struct drm_amdgpu_gem_va, va_address);
	assert_int_equal(sizeof(struct abi_drm_gem_close), sizeof(struct drm_gem_close));
	assert_int_equal(
		sizeof(struct abi_amdgpu_gem_metadata), sizeof(struct drm_amdgpu_gem_metadata));
	SAME(struct abi_amdgpu_gem_metadata, op, struct drm_amdgpu_gem_metadata, op);
	SAME(struct abi_amdgpu_gem_metadata, flags, struct drm_amdgpu_gem_metadata, data.flags);
	SAME(struct abi_amdgpu_gem_metadata, data_size_bytes, struct drm_amdgpu_gem_metadata,
		data.data_size_bytes);
	SAME(struct abi_amdgpu_gem_metadata, data, struct drm_amdgpu_gem_metadata, data.data);
	assert_int_equal(sizeof(struct abi_amdgpu_gem_op), sizeof(struct drm_amdgpu_gem_op));
	SAME(struct abi_amdgpu_gem_op, value, struct drm_amdgpu_gem_op, value);
	assert_int_equal(
		sizeof(struct abi_amdgpu_gem_create_info), sizeof(struct drm_amdgpu_gem_create_in));
	SAME(struct abi_amdgpu_gem_create_info, domains, struct drm_amdgpu_gem_create_in, domains);
	assert_int_equal(sizeof(struct abi_amdgpu_heap), sizeof(struct drm_amdgpu_heap_info));
	SAME(struct abi_amdgpu_heap, max_allocation, struct drm_amdgpu_heap_info, max_allocation);
	assert_int_equal(sizeof(struct abi_amdgpu_memory), sizeof(struct drm_amdgpu_memory_info));
	SAME(struct abi_amdgpu_memory, gtt, struct drm_amdgpu_memory_info, gtt);
	assert_int_equal(
		sizeof(struct abi_amdgpu_vram_gtt), sizeof(struct drm_amdgpu_info_vram_gtt));
#ifdef AMDGPU_INFO_GPUVM_FAULT
	SAME(struct abi_amdgpu_device, min_engine_clock, struct drm_amdgpu_info_device,
		min_engine_clock);
	SAME(struct abi_amdgpu_device, gl2c_cache_size, struct drm_amdgpu_info_device,
		gl2c_cache_size);
	SAME(struct abi_amdgpu_device, mall_size, struct drm_amdgpu_info_device, mall_size);
	SAME(struct abi_amdgpu_device, csa_alignment, struct drm_amdgpu_info_device, csa_alignment);
	assert_true(sizeof(struct drm_amdgpu_info_device) >= sizeof(struct abi_amdgpu_device));
#endif
	SAME(struct abi_amdgpu_device, family, struct drm_amdgpu_info_device, family);
	SAME(struct abi_amdgpu_device, gpu_counter_freq, struct drm_amdgpu_info_device,
		gpu_counter_freq);
	SAME(struct abi_amdgpu_device, cu_active_number, struct drm_amdgpu_info_device,
		cu_active_number);
	SAME(struct abi_amdgpu_device, virtual_address_offset, struct drm_amdgpu_info_device,
		virtual_address_offset);
	SAME(struct abi_amdgpu_device, vram_type, struct drm_amdgpu_info_device, vram_type);
	SAME(struct abi_amdgpu_device, wave_front_size, struct drm_amdgpu_info_device,
		wave_front_size);
	SAME(struct abi_amdgpu_device, num_cu_per_sh, struct drm_amdgpu_info_device, num_cu_per_sh);
	SAME(struct abi_amdgpu_device, high_va_offset, struct drm_amdgpu_info_device,
		high_va_offset);
}

static void drm_numbers(void **state)
{
	(void)state;
	assert_int_equal(ABI_DRM_VERSION, _IOC_NR(DRM_IOCTL_VERSION));
	assert_int_equal(ABI_DRM_GET_CLIENT, _IOC_NR(DRM_IOCTL_GET_CLIENT));
	assert_int_equal(ABI_DRM_GEM_CLOSE, _IOC_NR(DRM_IOCTL_GEM_CLOSE));
	assert_int_equal(ABI_DRM_GET_CAP, _IOC_NR(DRM_IOCTL_GET_CAP));
	assert_int_equal(ABI_DRM_PRIME_HANDLE_TO_FD, _IOC_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD));
	assert_int_equal(ABI_DRM_PRIME_FD_TO_HANDLE, _IOC_NR(DRM_IOCTL_PRIME_FD_TO_HANDLE));
	assert_int_equal(ABI_DRM_AMDGPU_GEM_MMAP, DRM_COMMAND_BASE + DRM_AMDGPU_GEM_MMAP);
	assert_int_equal(ABI_DRM_AMDGPU_INFO, DRM_COMMAND_BASE + DRM_AMDGPU_INFO);
	assert_int_equal(ABI_DRM_AMDGPU_GEM_VA, DRM_COMMAND_BASE + DRM_AMDGPU_GEM_VA);
	assert_int_equal(ABI_DRM_AMDGPU_GEM_METADATA, DRM_COMMAND_BASE + DRM_AMDGPU_GEM_METADATA);
	assert_int_equal(ABI_DRM_AMDGPU_GEM_OP, DRM_COMMAND_BASE + DRM_AMDGPU_GEM_OP);
	assert_int_equal(ABI_METADATA_SET, AMDGPU_GEM_METADATA_OP_SET_METADATA);
	assert_int_equal(ABI_METADATA_GET, AMDGPU_GEM_METADATA_OP_GET_METADATA);
	assert_int_equal(ABI_GEM_OP_GET_CREATE_INFO, AMDGPU_GEM_OP_GET_GEM_CREATE_INFO);
	assert_int_equal(ABI_DOMAIN_GTT, AMDGPU_GEM_DOMAIN_GTT);
	assert_int_equal(ABI_DOMAIN_VRAM, AMDGPU_GEM_DOMAIN_VRAM);
	assert_int_equal(ABI_DRM_CAP_PRIME, DRM_CAP_PRIME);
	assert_int_equal(ABI_VA_OP_UNMAP, AMDGPU_VA_OP_UNMAP);
	assert_int_equal(ABI_VA_OP_CLEAR, AMDGPU_VA_OP_CLEAR);
	assert_int_equal(vg_model_find("gfx942")->family, AMDGPU_FAMILY_AI);
	assert_int_equal(vg_model_find("gfx942")->vram_type, AMDGPU_VRAM_TYPE_HBM);
	assert_int_equal(vg_model_find("gfx1100")->vram_type, AMDGPU_VRAM_TYPE_GDDR6);
#ifdef AMDGPU_FAMILY_GC_11_0_0
	assert_int_equal(vg_model_find("gfx1100")->family, AMDGPU_FAMILY_GC_11_0_0);
#endif
	assert_int_equal(ABI_HW_IP_GFX, AMDGPU_HW_IP_GFX);
	assert_int_equal(ABI_HW_IP_COMPUTE, AMDGPU_HW_IP_COMPUTE);
	assert_int_equal(ABI_HW_IP_DMA, AMDGPU_HW_IP_DMA);
	assert_int_equal(ABI_FW_GFX_MEC, AMDGPU_INFO_FW_GFX_MEC);
	assert_int_equal(ABI_FW_SDMA, AMDGPU_INFO_FW_SDMA);
	assert_int_equal(ABI_INFO_ACCEL_WORKING, AMDGPU_INFO_ACCEL_WORKING);
	assert_int_equal(ABI_INFO_HW_IP_INFO, AMDGPU_INFO_HW_IP_INFO);
	assert_int_equal(ABI_INFO_HW_IP_COUNT, AMDGPU_INFO_HW_IP_COUNT);
	assert_int_equal(ABI_INFO_TIMESTAMP, AMDGPU_INFO_TIMESTAMP);
	assert_int_equal(ABI_INFO_FW_VERSION, AMDGPU_INFO_FW_VERSION);
	assert_int_equal(ABI_INFO_VRAM_USAGE, AMDGPU_INFO_VRAM_USAGE);
	assert_int_equal(ABI_INFO_GTT_USAGE, AMDGPU_INFO_GTT_USAGE);
	assert_int_equal(ABI_INFO_VRAM_GTT, AMDGPU_INFO_VRAM_GTT);
	assert_int_equal(ABI_INFO_READ_MMR_REG, AMDGPU_INFO_READ_MMR_REG);
	assert_int_equal(ABI_INFO_DEV_INFO, AMDGPU_INFO_DEV_INFO);
	assert_int_equal(ABI_INFO_MEMORY, AMDGPU_INFO_MEMORY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_and_queues),
		cmocka_unit_test(packets),
		cmocka_unit_test(constants),
		cmocka_unit_test(drm),
		cmocka_unit_test(drm_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
