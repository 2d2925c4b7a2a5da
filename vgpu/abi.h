// SPDX-License-Identifier: MIT
/*
 * The little of AMD's user-visible ABI that the virtual GPU reads and writes: queues, signals,
 * packets, and the DRM structures that libdrm_amdgpu passes. Declared here so that no vendor SDK
 * is needed to build; tests/vgpu/test_abi.c compares every one with the distribution's headers.
 */
#ifndef VGPU_ABI_H
#define VGPU_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* ---- HSA: signals and queues (amd_hsa_signal.h, amd_hsa_queue.h) ---- */

struct abi_signal {
	int64_t kind;
	int64_t value;
	uint64_t event_mailbox_ptr;
	uint32_t event_id;
	uint32_t reserved1;
	uint64_t start_ts;
	uint64_t end_ts;
	uint64_t queue_ptr;
	uint32_t reserved3[2];
};
static_assert(sizeof(struct abi_signal) == 64, "amd_signal_t");
static_assert(offsetof(struct abi_signal, value) == 8, "amd_signal_t.value");
static_assert(offsetof(struct abi_signal, start_ts) == 32, "amd_signal_t.start_ts");

struct abi_queue {
	uint32_t type;
	uint32_t features;
	uint64_t base_address;
	uint64_t doorbell_signal;
	uint32_t size;
	uint32_t reserved0;
	uint64_t id;
	uint32_t reserved1[4];
	uint64_t write_dispatch_id;
	uint32_t group_segment_aperture_base_hi;
	uint32_t private_segment_aperture_base_hi;
	uint32_t max_cu_id;
	uint32_t max_wave_id;
	uint64_t max_legacy_doorbell_dispatch_id_plus_1;
	uint32_t legacy_doorbell_lock;
	uint32_t reserved2[9];
	uint64_t read_dispatch_id;
	uint32_t read_dispatch_id_field_base_byte_offset;
	uint32_t compute_tmpring_size;
	uint32_t scratch_resource_descriptor[4];
	uint64_t scratch_backing_memory_location;
	uint64_t scratch_backing_memory_byte_size;
	uint32_t scratch_wave64_lane_byte_size;
	uint32_t queue_properties;
	uint32_t reserved3[2];
	uint64_t queue_inactive_signal;
	uint32_t reserved4[14];
};
static_assert(sizeof(struct abi_queue) == 256, "amd_queue_t");
static_assert(offsetof(struct abi_queue, write_dispatch_id) == 56, "amd_queue_t.write_dispatch_id");
static_assert(offsetof(struct abi_queue, read_dispatch_id) == 128, "amd_queue_t.read_dispatch_id");
static_assert(offsetof(struct abi_queue, queue_properties) == 180, "amd_queue_t.queue_properties");

#define ABI_QUEUE_PROFILING (1u << 3) /* AMD_QUEUE_PROPERTIES_ENABLE_PROFILING */

/* ---- HSA: AQL packets (hsa.h, hsa_ext_amd.h), 64 bytes each ---- */

enum abi_packet_type {
	ABI_PACKET_VENDOR = 0,
	ABI_PACKET_INVALID = 1,
	ABI_PACKET_DISPATCH = 2,
	ABI_PACKET_BARRIER_AND = 3,
	ABI_PACKET_AGENT = 4,
	ABI_PACKET_BARRIER_OR = 5,
};
#define ABI_HEADER_TYPE_MASK   0xffu
#define ABI_HEADER_BARRIER_BIT (1u << 8)
#define ABI_SETUP_DIMENSIONS   3u /* of a dispatch: 1 to 3 */

enum abi_vendor_format {
	ABI_VENDOR_PM4_IB = 1,        /* undocumented: ROCr's instruction cache invalidation */
	ABI_VENDOR_BARRIER_VALUE = 2, /* HSA_AMD_PACKET_TYPE_BARRIER_VALUE */
};

enum abi_condition {
	ABI_CONDITION_EQ = 0,
	ABI_CONDITION_NE = 1,
	ABI_CONDITION_LT = 2,
	ABI_CONDITION_GTE = 3,
};

#define ABI_BARRIER_DEPS 5

struct abi_dispatch_packet {
	uint16_t header;
	uint16_t setup;
	uint16_t workgroup[3];
	uint16_t reserved0;
	uint32_t grid[3];
	uint32_t private_segment_size;
	uint32_t group_segment_size;
	uint64_t kernel_object;
	uint64_t kernarg_address;
	uint64_t reserved2;
	uint64_t completion_signal;
};
struct abi_barrier_packet {
	uint16_t header;
	uint16_t reserved0;
	uint32_t reserved1;
	uint64_t dep_signal[ABI_BARRIER_DEPS];
	uint64_t reserved2;
	uint64_t completion_signal;
};
struct abi_barrier_value_packet {
	uint16_t header;
	uint8_t format;
	uint8_t reserved;
	uint32_t reserved0;
	uint64_t signal;
	int64_t value;
	int64_t mask;
	uint32_t cond;
	uint32_t reserved1;
	uint64_t reserved2;
	uint64_t reserved3;
	uint64_t completion_signal;
};
union abi_packet {
	uint16_t header;
	struct abi_dispatch_packet dispatch;
	struct abi_barrier_packet barrier;
	struct abi_barrier_value_packet value;
	unsigned char raw[64];
};
static_assert(sizeof(union abi_packet) == 64, "AQL packet");
static_assert(sizeof(struct abi_dispatch_packet) == 64, "dispatch packet");
static_assert(sizeof(struct abi_barrier_packet) == 64, "barrier packet");
static_assert(sizeof(struct abi_barrier_value_packet) == 64, "barrier-value packet");
static_assert(offsetof(struct abi_dispatch_packet, grid) == 12, "dispatch packet grid");
static_assert(offsetof(struct abi_dispatch_packet, kernel_object) == 32, "dispatch packet object");
static_assert(offsetof(struct abi_dispatch_packet, kernarg_address) == 40, "dispatch packet args");
static_assert(offsetof(struct abi_barrier_packet, dep_signal) == 8, "barrier packet deps");
static_assert(offsetof(struct abi_barrier_value_packet, cond) == 32, "barrier-value condition");

/* ---- SDMA packets of gfx9 (ROCr 5.2.3, sdma_registers.h and amd_blit_sdma.cpp) ---- */

enum abi_sdma_op {
	ABI_SDMA_NOP = 0,
	ABI_SDMA_COPY = 1,
	ABI_SDMA_FENCE = 5,
	ABI_SDMA_TRAP = 6,
	ABI_SDMA_POLL = 8,
	ABI_SDMA_ATOMIC = 10,
	ABI_SDMA_FILL = 11,
	ABI_SDMA_TIMESTAMP = 13,
	ABI_SDMA_GCR = 17,
};
#define ABI_SDMA_COPY_RECT    4   /* sub-operation of COPY */
#define ABI_SDMA_ATOMIC_ADD64 47u /* the only atomic that ROCr uses */
#define ABI_SDMA_MAX_DWORDS   16

/* ---- KFD: newer than some distributions' linux/kfd_ioctl.h ---- */

struct abi_kfd_export_dmabuf {
	uint64_t handle;
	uint32_t flags;
	uint32_t dmabuf_fd;
};
struct abi_kfd_available_memory {
	uint64_t available;
	uint32_t gpu_id;
	uint32_t pad;
};
/* Never in the kernel proper, but in AMD's own driver: memory between processes. */
struct abi_kfd_ipc_export {
	uint64_t handle;
	uint32_t share_handle[4];
	uint32_t gpu_id;
	uint32_t flags;
};
struct abi_kfd_ipc_import {
	uint64_t handle;
	uint64_t va_addr;
	uint64_t mmap_offset;
	uint32_t share_handle[4];
	uint32_t gpu_id;
	uint32_t flags;
};
#define ABI_KFD_IPC_IMPORT 0x80
#define ABI_KFD_IPC_EXPORT 0x81
static_assert(sizeof(struct abi_kfd_ipc_export) == 32, "IPC export handle");
static_assert(sizeof(struct abi_kfd_ipc_import) == 48, "IPC import handle");
struct abi_kfd_runtime_enable {
	uint64_t r_debug;
	uint32_t mode_mask;
	uint32_t capabilities_mask;
};
#define ABI_RUNTIME_ENABLE 1u /* of mode_mask */
static_assert(sizeof(struct abi_kfd_export_dmabuf) == 16, "export dmabuf");
static_assert(sizeof(struct abi_kfd_available_memory) == 16, "available memory");
static_assert(sizeof(struct abi_kfd_runtime_enable) == 16, "runtime enable");

/* Head of a queue's context save area, which the thunk fills in (hsakmttypes.h). */
struct abi_save_area {
	uint32_t wave_state[4];
	uint32_t debug_offset;
	uint32_t debug_bytes;
	uint64_t error_payload; /* where the exceptions' bits go, 0: nowhere */
	uint32_t error_event;
	uint32_t reserved;
};
static_assert(sizeof(struct abi_save_area) == 40, "context save area");
static_assert(offsetof(struct abi_save_area, error_payload) == 24, "error payload");

/* ---- DRM (drm.h, amdgpu_drm.h): command numbers and structures ---- */

enum abi_drm_nr {
	ABI_DRM_VERSION = 0x00,
	ABI_DRM_GET_CLIENT = 0x05,
	ABI_DRM_GEM_CLOSE = 0x09,
	ABI_DRM_GET_CAP = 0x0c,
	ABI_DRM_PRIME_HANDLE_TO_FD = 0x2d,
	ABI_DRM_PRIME_FD_TO_HANDLE = 0x2e,
	ABI_DRM_AMDGPU_GEM_MMAP = 0x41,
	ABI_DRM_AMDGPU_INFO = 0x45,
	ABI_DRM_AMDGPU_GEM_METADATA = 0x46,
	ABI_DRM_AMDGPU_GEM_VA = 0x48,
	ABI_DRM_AMDGPU_GEM_OP = 0x50,
};

enum abi_amdgpu_info {
	ABI_INFO_ACCEL_WORKING = 0x00,
	ABI_INFO_HW_IP_INFO = 0x02,
	ABI_INFO_HW_IP_COUNT = 0x03,
	ABI_INFO_TIMESTAMP = 0x05,
	ABI_INFO_FW_VERSION = 0x0e,
	ABI_INFO_VRAM_USAGE = 0x10,
	ABI_INFO_GTT_USAGE = 0x11,
	ABI_INFO_VRAM_GTT = 0x14,
	ABI_INFO_READ_MMR_REG = 0x15,
	ABI_INFO_DEV_INFO = 0x16,
	ABI_INFO_MEMORY = 0x19,
};

struct abi_drm_version {
	int version_major;
	int version_minor;
	int version_patchlevel;
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};
struct abi_drm_get_cap {
	uint64_t capability;
	uint64_t value;
};
#define ABI_DRM_CAP_PRIME 0x5
struct abi_drm_client {
	int idx;
	int auth;
	unsigned long pid;
	unsigned long uid;
	unsigned long magic;
	unsigned long iocs;
};
struct abi_drm_gem_close {
	uint32_t handle;
	uint32_t pad;
};
struct abi_drm_prime_handle {
	uint32_t handle;
	uint32_t flags;
	int32_t fd;
};
struct abi_amdgpu_info_args {
	uint64_t return_pointer;
	uint32_t return_size;
	uint32_t query;
	uint32_t params[4];
};
enum { ABI_HW_IP_GFX = 0, ABI_HW_IP_COMPUTE = 1, ABI_HW_IP_DMA = 2 }; /* params[0] of HW_IP_INFO */
struct abi_amdgpu_hw_ip {
	uint32_t major, minor;
	uint64_t capabilities;
	uint32_t ib_start_alignment, ib_size_alignment;
	uint32_t available_rings;
	uint32_t discovery_version; /* padding in older headers */
};
enum { ABI_FW_GFX_MEC = 0x08, ABI_FW_SDMA = 0x0b }; /* params[0] of FW_VERSION */
struct abi_amdgpu_firmware {
	uint32_t version, feature;
};
struct abi_amdgpu_gem_mmap {
	uint64_t handle_then_offset; /* in: the handle (32 bits), out: the offset */
};
struct abi_amdgpu_gem_va {
	uint32_t handle;
	uint32_t pad;
	uint32_t operation;
	uint32_t flags;
	uint64_t va_address;
	uint64_t offset_in_bo;
	uint64_t map_size;
};
struct abi_amdgpu_gem_metadata {
	uint32_t handle;
	uint32_t op;
	uint64_t flags;
	uint64_t tiling_info;
	uint32_t data_size_bytes;
	uint32_t data[64];
};
#define ABI_METADATA_SET 1
#define ABI_METADATA_GET 2
struct abi_amdgpu_gem_op {
	uint32_t handle;
	uint32_t op;
	uint64_t value;
};
#define ABI_GEM_OP_GET_CREATE_INFO 0
struct abi_amdgpu_gem_create_info {
	uint64_t bo_size;
	uint64_t alignment;
	uint64_t domains;
	uint64_t domain_flags;
};
#define ABI_DOMAIN_GTT  2
#define ABI_DOMAIN_VRAM 4
#define ABI_VA_OP_UNMAP 2
#define ABI_VA_OP_CLEAR 3

struct abi_amdgpu_heap {
	uint64_t total_heap_size;
	uint64_t usable_heap_size;
	uint64_t heap_usage;
	uint64_t max_allocation;
};
struct abi_amdgpu_memory {
	struct abi_amdgpu_heap vram;
	struct abi_amdgpu_heap cpu_accessible_vram;
	struct abi_amdgpu_heap gtt;
};
struct abi_amdgpu_vram_gtt {
	uint64_t vram_size;
	uint64_t vram_cpu_accessible_size;
	uint64_t gtt_size;
};
struct abi_amdgpu_device {
	uint32_t device_id;
	uint32_t chip_rev;
	uint32_t external_rev;
	uint32_t pci_rev;
	uint32_t family;
	uint32_t num_shader_engines;
	uint32_t num_shader_arrays_per_engine;
	uint32_t gpu_counter_freq;
	uint64_t max_engine_clock;
	uint64_t max_memory_clock;
	uint32_t cu_active_number;
	uint32_t cu_ao_mask;
	uint32_t cu_bitmap[4][4];
	uint32_t enabled_rb_pipes_mask;
	uint32_t num_rb_pipes;
	uint32_t num_hw_gfx_contexts;
	uint32_t pad0;
	uint64_t ids_flags;
	uint64_t virtual_address_offset;
	uint64_t virtual_address_max;
	uint32_t virtual_address_alignment;
	uint32_t pte_fragment_size;
	uint32_t gart_page_size;
	uint32_t ce_ram_size;
	uint32_t vram_type;
	uint32_t vram_bit_width;
	uint32_t vce_harvest_config;
	uint32_t gc_double_offchip_lds_buf;
	uint64_t ring_buffers_addr[4];
	uint32_t ring_buffers_size[4];
	uint32_t wave_front_size;
	uint32_t num_shader_visible_vgprs;
	uint32_t num_cu_per_sh;
	uint32_t num_tcc_blocks;
	uint32_t gs_vgt_table_depth;
	uint32_t gs_prim_buffer_depth;
	uint32_t max_gs_waves_per_vgt;
	uint32_t pad1;
	uint32_t cu_ao_bitmap[4][4];
	uint64_t high_va_offset;
	uint64_t high_va_max;
	uint32_t pa_sc_tile_steering_override;
	uint64_t tcc_disabled_mask;
	/* from Linux 6.3 on */
	uint64_t min_engine_clock;
	uint64_t min_memory_clock;
	uint32_t tcp_cache_size;
	uint32_t num_sqc_per_wgp;
	uint32_t sqc_data_cache_size;
	uint32_t sqc_inst_cache_size;
	uint32_t gl1c_cache_size;
	uint32_t gl2c_cache_size;
	uint64_t mall_size;
	uint32_t enabled_rb_pipes_mask_hi;
	uint32_t shadow_size;
	uint32_t shadow_alignment;
	uint32_t csa_size;
	uint32_t csa_alignment;
	uint32_t pad2;
};
static_assert(sizeof(struct abi_drm_version) == 64, "drm_version");
static_assert(sizeof(struct abi_amdgpu_info_args) == 32, "drm_amdgpu_info");
static_assert(sizeof(struct abi_amdgpu_gem_va) == 40, "drm_amdgpu_gem_va");
static_assert(sizeof(struct abi_amdgpu_gem_metadata) == 288, "drm_amdgpu_gem_metadata");
static_assert(sizeof(struct abi_amdgpu_gem_op) == 16, "drm_amdgpu_gem_op");
static_assert(sizeof(struct abi_amdgpu_memory) == 96, "drm_amdgpu_memory_info");

#endif
