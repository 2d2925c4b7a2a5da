// SPDX-License-Identifier: MIT
/*
 * The part of the HSA runtime's ABI that wavetap uses, declared here so that no
 * vendor header is needed. tests/rules compares it with the distribution's.
 *
 * API tables are arrays of function pointers behind a version; CoreApiTable
 * has had one order since ROCm 5.2, AmdExtTable got two entries inserted at 16
 * with ROCm 5.6 (its size tells: minor version >= 456).
 */
#ifndef WT_HSA_ABI_H
#define WT_HSA_ABI_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t hsa_status;
#define HSA_OK		     0u
#define HSA_INFO_BREAK	     1u /* stops an iteration */
#define HSA_ERROR	     0x1000u

struct hsa_handle {
	uint64_t handle;
};
typedef struct hsa_handle hsa_agent, hsa_signal, hsa_executable, hsa_symbol, hsa_loaded_code,
	hsa_code_reader, hsa_isa, hsa_pool;

struct hsa_queue {
	uint32_t type;
	uint32_t features;
	void *base_address;
	hsa_signal doorbell_signal;
	uint32_t size;		/* packets, power of two */
	uint32_t reserved1;
	uint64_t id;
};
static_assert(sizeof(struct hsa_queue) == 40, "hsa_queue_t");
static_assert(offsetof(struct hsa_queue, doorbell_signal) == 16, "hsa_queue_t");

/* amd_queue_t begins with the hsa_queue_t that the application holds. */
#define AMD_QUEUE_WRITE_INDEX 56
#define AMD_QUEUE_READ_INDEX  128

/* amd_signal_t.kind */
#define AMD_SIGNAL_DOORBELL	   (-1)
#define AMD_SIGNAL_LEGACY_DOORBELL (-2)

enum hsa_packet_type {
	HSA_PACKET_VENDOR = 0,
	HSA_PACKET_INVALID = 1,
	HSA_PACKET_DISPATCH = 2,
	HSA_PACKET_BARRIER_AND = 3,
	HSA_PACKET_AGENT = 4,
	HSA_PACKET_BARRIER_OR = 5,
};
#define HSA_HEADER_BARRIER_BIT 8
#define HSA_HEADER_ACQUIRE_BIT 9
#define HSA_HEADER_RELEASE_BIT 11
#define HSA_FENCE_SYSTEM       2

struct hsa_dispatch_packet {
	uint16_t header;
	uint16_t setup;
	uint16_t workgroup[3];
	uint16_t reserved0;
	uint32_t grid[3];
	uint32_t private_segment_size;
	uint32_t group_segment_size;
	uint64_t kernel_object;
	void *kernarg_address;
	uint64_t reserved2;
	hsa_signal completion_signal;
};
static_assert(sizeof(struct hsa_dispatch_packet) == 64, "dispatch packet");
static_assert(offsetof(struct hsa_dispatch_packet, kernel_object) == 32, "dispatch packet");
static_assert(offsetof(struct hsa_dispatch_packet, completion_signal) == 56, "dispatch packet");

struct hsa_table_version {
	uint32_t major;
	uint32_t minor;	/* sizeof the table */
	uint32_t step;
	uint32_t reserved;
};

struct hsa_table {
	struct hsa_table_version version;
	void *fn[];
};

struct hsa_api_table {
	struct hsa_table_version version;
	struct hsa_table *core;
	struct hsa_table *amd_ext;
	struct hsa_table *finalizer_ext;
	struct hsa_table *image_ext;
};
static_assert(offsetof(struct hsa_api_table, amd_ext) == 24, "HsaApiTable");

/* CoreApiTable: index of each entry that is used or replaced. */
/* Entries without arguments that are not needed: hsa_init, hsa_shut_down. */
#define HSA_CORE_INIT	   0
#define HSA_CORE_SHUT_DOWN 1

#define HSA_CORE_ENTRIES(X)                                                                  \
	X(hsa_system_get_info, 2)                                                            \
	X(hsa_iterate_agents, 5)                                                             \
	X(hsa_agent_get_info, 6)                                                             \
	X(hsa_queue_create, 7)                                                               \
	X(hsa_queue_destroy, 9)                                                              \
	X(hsa_queue_load_read_index_scacquire, 11)                                           \
	X(hsa_queue_load_write_index_scacquire, 13)                                          \
	X(hsa_queue_load_write_index_relaxed, 14)                                            \
	X(hsa_queue_store_write_index_relaxed, 15)                                           \
	X(hsa_queue_store_write_index_screlease, 16)                                         \
	X(hsa_queue_cas_write_index_scacq_screl, 17)                                         \
	X(hsa_queue_cas_write_index_scacquire, 18)                                           \
	X(hsa_queue_cas_write_index_relaxed, 19)                                             \
	X(hsa_queue_cas_write_index_screlease, 20)                                           \
	X(hsa_queue_add_write_index_scacq_screl, 21)                                         \
	X(hsa_queue_add_write_index_scacquire, 22)                                           \
	X(hsa_queue_add_write_index_relaxed, 23)                                             \
	X(hsa_queue_add_write_index_screlease, 24)                                           \
	X(hsa_memory_allocate, 33)                                                           \
	X(hsa_memory_free, 34)                                                               \
	X(hsa_signal_create, 37)                                                             \
	X(hsa_signal_destroy, 38)                                                            \
	X(hsa_signal_load_relaxed, 39)                                                       \
	X(hsa_signal_load_scacquire, 40)                                                     \
	X(hsa_signal_store_relaxed, 41)                                                      \
	X(hsa_signal_store_screlease, 42)                                                    \
	X(hsa_signal_wait_relaxed, 43)                                                       \
	X(hsa_signal_wait_scacquire, 44)                                                     \
	X(hsa_executable_destroy, 84)                                                        \
	X(hsa_executable_freeze, 86)                                                         \
	X(hsa_executable_symbol_get_info, 93)                                                \
	X(hsa_system_get_major_extension_table, 98)                                          \
	X(hsa_signal_silent_store_relaxed, 102)                                              \
	X(hsa_signal_silent_store_screlease, 103)                                            \
	X(hsa_agent_iterate_isas, 108)                                                       \
	X(hsa_isa_get_info_alt, 109)                                                         \
	X(hsa_executable_load_agent_code_object, 120)                                        \
	X(hsa_executable_iterate_agent_symbols, 123)

/* AmdExtTable before ROCm 5.6; from 16 on, two more since. */
#define HSA_AMD_ENTRIES(X)                                                                   \
	X(hsa_amd_profiling_set_profiler_enabled, 2)                                         \
	X(hsa_amd_profiling_async_copy_enable, 3)                                            \
	X(hsa_amd_profiling_get_async_copy_time, 5)                                          \
	X(hsa_amd_profiling_convert_tick_to_system_domain, 6)                                \
	X(hsa_amd_memory_pool_get_info, 11)                                                  \
	X(hsa_amd_agent_iterate_memory_pools, 12)                                            \
	X(hsa_amd_queue_cu_set_mask, 10)                                                     \
	X(hsa_amd_memory_async_copy, 15)                                                     \
	X(hsa_amd_memory_lock, 20)                                                           \
	X(hsa_amd_memory_unlock, 21)                                                         \
	X(hsa_amd_pointer_info, 26)                                                          \
	X(hsa_amd_signal_create, 31)                                                         \
	X(hsa_amd_queue_intercept_create, 35)                                                \
	X(hsa_amd_queue_intercept_register, 36)                                              \
	X(hsa_amd_queue_set_priority, 37)                                                    \
	X(hsa_amd_memory_async_copy_rect, 38)

/* Replaced where they are there: not called but for the application. */
#define HSA_AMD_WRAPPED_ENTRIES(X)                                                           \
	X(hsa_amd_memory_pool_allocate, 13)                                                  \
	X(hsa_amd_memory_pool_free, 14)                                                      \
	X(hsa_amd_ipc_memory_attach, 29)                                                     \
	X(hsa_amd_ipc_memory_detach, 30)                                                     \
	X(hsa_amd_memory_lock_to_pool, 40)

/* Not there before ROCm 6. */
#define HSA_AMD_LATER_ENTRIES(X)                                                             \
	X(hsa_amd_vmem_map, 57)                                                              \
	X(hsa_amd_vmem_unmap, 58)

#define HSA_AMD_INSERTED_AT   16
#define HSA_AMD_INSERTED_SIZE 456 /* table size from which on the order is the new one */
#define HSA_AMD_QUEUE_CREATE  86  /* hsa_amd_queue_create, new order … */
#define HSA_AMD_QUEUE_CREATE_STEP 0x10 /* … from this step of the table on */
#define HSA_AMD_ON_ENGINE     16  /* hsa_amd_memory_async_copy_on_engine, new order only */

#define X(name, index) HSA_CORE_##name = index,
enum hsa_core_index { HSA_CORE_ENTRIES(X) };
#undef X
#define X(name, index) HSA_AMD_##name = index,
enum hsa_amd_index { HSA_AMD_ENTRIES(X) HSA_AMD_WRAPPED_ENTRIES(X) HSA_AMD_LATER_ENTRIES(X) };
#undef X

/* hsa_agent_get_info attributes */
enum hsa_agent_info {
	HSA_AGENT_NAME = 0,	/* char[64] */
	HSA_AGENT_WAVEFRONT_SIZE = 6, /* here and below uint32_t, unless another type is given */
	HSA_AGENT_WORKGROUP_MAX = 8,
	HSA_AGENT_NODE = 16,	/* uint32_t */
	HSA_AGENT_DEVICE = 17,	/* uint32_t: 0 CPU, 1 GPU */
	HSA_AGENT_CACHES = 18,	/* uint32_t[4], bytes by level */
	HSA_AGENT_CHIP_ID = 0xa000,
	HSA_AGENT_COMPUTE_UNITS = 0xa002,
	HSA_AGENT_CLOCK_MHZ = 0xa003,
	HSA_AGENT_DRIVER_NODE = 0xa004,
	HSA_AGENT_BDFID = 0xa006,
	HSA_AGENT_MEMORY_WIDTH = 0xa007,
	HSA_AGENT_MEMORY_CLOCK_MHZ = 0xa008,
	HSA_AGENT_PRODUCT_NAME = 0xa009, /* char[64] */
	HSA_AGENT_WAVES_PER_CU = 0xa00a,
	HSA_AGENT_SIMDS_PER_CU = 0xa00b,
	HSA_AGENT_SHADER_ENGINES = 0xa00c,
	HSA_AGENT_DOMAIN = 0xa00f,
	HSA_AGENT_UUID = 0xa011,	 /* char[21] "GPU-<16 hex>" */
	HSA_AGENT_ASIC_REVISION = 0xa012,
	HSA_AGENT_XCC_CNT = 0xa111, /* since ROCm 5.6 */
};
#define HSA_DEVICE_CPU 0u
#define HSA_DEVICE_GPU 1u

/* hsa_amd_memory_pool_get_info attributes, segments */
enum hsa_pool_info {
	HSA_POOL_SEGMENT = 0, /* uint32_t */
	HSA_POOL_SIZE = 2,    /* size_t */
};
#define HSA_SEGMENT_GLOBAL 0u
#define HSA_SEGMENT_GROUP  3u

/* hsa_isa_get_info_alt attributes */
enum hsa_isa_info {
	HSA_ISA_NAME_LENGTH = 0, /* uint32_t */
	HSA_ISA_NAME = 1,	 /* char[] "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" */
};

/* hsa_executable_symbol_get_info attributes */
enum hsa_symbol_info {
	HSA_SYMBOL_TYPE = 0,	    /* uint32_t: 1 kernel */
	HSA_SYMBOL_NAME_LENGTH = 1, /* uint32_t */
	HSA_SYMBOL_NAME = 2,	    /* char[] */
	HSA_SYMBOL_KERNEL_OBJECT = 22,
	HSA_SYMBOL_KERNARG_SIZE = 11,
	HSA_SYMBOL_GROUP_SIZE = 13,
	HSA_SYMBOL_PRIVATE_SIZE = 14,
};
#define HSA_SYMBOL_IS_KERNEL 1u

/* hsa_ven_amd_loader_1_01_pfn_t: what the loader tells of loaded code objects. */
#define HSA_EXTENSION_LOADER 0x201
struct hsa_loader {
	void *unused[3];
	hsa_status (*each_loaded_code)(hsa_executable,
		hsa_status (*)(hsa_executable, hsa_loaded_code, void *), void *);
	hsa_status (*loaded_code_get_info)(hsa_loaded_code, uint32_t, void *);
};
enum hsa_loaded_code_info {
	HSA_LOADED_CODE_AGENT = 3,
	HSA_LOADED_CODE_BASE = 5,    /* uint64_t: where the file's bytes are */
	HSA_LOADED_CODE_SIZE = 6,    /* uint64_t */
	HSA_LOADED_CODE_ADDRESS = 9, /* uint64_t: where it was loaded to */
	HSA_LOADED_CODE_BYTES = 10,  /* uint64_t */
};

/* hsa_amd_pointer_info_t */
struct hsa_pointer_info {
	uint32_t size;
	uint32_t type;
	void *gpu_base;
	void *host_base;
	size_t bytes;
	void *user_data;
	hsa_agent owner;
	uint32_t flags;
};
#define HSA_POINTER_UNKNOWN 0u
#define HSA_POINTER_LOCKED  2u

struct hsa_copy_time {
	uint64_t start;
	uint64_t end;
};

/* Types of the entries. */
typedef hsa_status hsa_iterate_agents_fn(hsa_status (*)(hsa_agent, void *), void *);
typedef hsa_status hsa_agent_get_info_fn(hsa_agent, uint32_t, void *);
typedef hsa_status hsa_system_get_info_fn(uint32_t, void *);
typedef hsa_status hsa_agent_iterate_isas_fn(
	hsa_agent, hsa_status (*)(hsa_isa, void *), void *);
typedef hsa_status hsa_isa_get_info_alt_fn(hsa_isa, uint32_t, void *);
typedef hsa_status hsa_amd_memory_pool_get_info_fn(hsa_pool, uint32_t, void *);
typedef hsa_status hsa_amd_agent_iterate_memory_pools_fn(
	hsa_agent, hsa_status (*)(hsa_pool, void *), void *);
typedef hsa_status hsa_queue_create_fn(hsa_agent, uint32_t, uint32_t,
	void (*)(hsa_status, struct hsa_queue *, void *), void *, uint32_t, uint32_t,
	struct hsa_queue **);
typedef hsa_status hsa_queue_destroy_fn(struct hsa_queue *);
typedef uint64_t hsa_queue_load_index_fn(const struct hsa_queue *);
typedef void hsa_queue_store_index_fn(const struct hsa_queue *, uint64_t);
typedef uint64_t hsa_queue_cas_index_fn(const struct hsa_queue *, uint64_t, uint64_t);
typedef uint64_t hsa_queue_add_index_fn(const struct hsa_queue *, uint64_t);
typedef hsa_status hsa_signal_create_fn(int64_t, uint32_t, const hsa_agent *, hsa_signal *);
typedef hsa_status hsa_signal_destroy_fn(hsa_signal);
typedef int64_t hsa_signal_load_fn(hsa_signal);
typedef void hsa_signal_store_fn(hsa_signal, int64_t);
typedef int64_t hsa_signal_wait_fn(hsa_signal, uint32_t, int64_t, uint64_t, uint32_t);
typedef hsa_status hsa_executable_destroy_fn(hsa_executable);
typedef hsa_status hsa_executable_freeze_fn(hsa_executable, const char *);
typedef hsa_status hsa_executable_symbol_get_info_fn(hsa_symbol, uint32_t, void *);
typedef hsa_status hsa_system_get_major_extension_table_fn(uint16_t, uint16_t, size_t, void *);
typedef hsa_status hsa_executable_load_agent_code_object_fn(hsa_executable, hsa_agent,
	hsa_code_reader, const char *, hsa_loaded_code *);
typedef hsa_status hsa_executable_iterate_agent_symbols_fn(hsa_executable, hsa_agent,
	hsa_status (*)(hsa_executable, hsa_agent, hsa_symbol, void *), void *);
typedef hsa_status hsa_amd_profiling_set_profiler_enabled_fn(struct hsa_queue *, int);
typedef hsa_status hsa_amd_profiling_async_copy_enable_fn(bool);
typedef hsa_status hsa_amd_profiling_get_async_copy_time_fn(hsa_signal, struct hsa_copy_time *);
typedef hsa_status hsa_amd_profiling_convert_tick_fn(hsa_agent, uint64_t, uint64_t *);
typedef hsa_status hsa_amd_memory_async_copy_fn(void *, hsa_agent, const void *, hsa_agent, size_t,
	uint32_t, const hsa_signal *, hsa_signal);
typedef hsa_status hsa_amd_queue_set_priority_fn(struct hsa_queue *, uint32_t);
typedef hsa_status hsa_amd_queue_cu_set_mask_fn(const struct hsa_queue *, uint32_t,
	const uint32_t *);

/* hsa_amd_queue_create_desc_t; the end is that of a compute queue. */
struct hsa_queue_desc {
	uint16_t version;
	uint16_t flags;
	uint8_t engine;
	uint8_t reserved0[3];
	uint32_t size_bytes;
	uint32_t priority;
	void (*callback)(hsa_status, struct hsa_queue *, void *);
	void *data;
	struct hsa_queue *queue; /* out; NULL: could not be made */
	const uint32_t *cu_mask;
	uint32_t type;
	uint32_t private_bytes;
	uint32_t cu_mask_bits;
	uint32_t reserved1[3];
	uint32_t traffic_class;
	uint8_t reserved2[20];
};
#define HSA_QUEUE_DESC_VERSION	 1
#define HSA_QUEUE_ENGINE_COMPUTE 0
static_assert(offsetof(struct hsa_queue_desc, queue) == 32, "hsa_amd_queue_create_desc_t");
static_assert(sizeof(struct hsa_queue_desc) == 96, "hsa_amd_queue_create_desc_t");
typedef hsa_status hsa_amd_queue_create_fn(hsa_agent, struct hsa_queue_desc *, uint32_t);
typedef hsa_status hsa_amd_memory_async_copy_on_engine_fn(void *, hsa_agent, const void *,
	hsa_agent, size_t, uint32_t, const hsa_signal *, hsa_signal, uint32_t, bool);
struct hsa_dim3 {
	uint32_t x, y, z;
};
struct hsa_pitched_ptr;
typedef hsa_status hsa_amd_memory_async_copy_rect_fn(const struct hsa_pitched_ptr *,
	const struct hsa_dim3 *, const struct hsa_pitched_ptr *, const struct hsa_dim3 *,
	const struct hsa_dim3 *, hsa_agent, uint32_t, uint32_t, const hsa_signal *, hsa_signal);
struct hsa_pitched_ptr {
	void *base;
	size_t pitch;
	size_t slice;
};
typedef hsa_status hsa_amd_memory_lock_fn(void *, size_t, const hsa_agent *, int, void **);
typedef hsa_status hsa_amd_memory_unlock_fn(void *);
typedef hsa_status hsa_amd_memory_lock_to_pool_fn(void *, size_t, const hsa_agent *, int,
	struct hsa_handle, uint32_t, void **);
typedef hsa_status hsa_amd_pointer_info_fn(const void *, struct hsa_pointer_info *,
	void *(*)(size_t), uint32_t *, hsa_agent **);
typedef hsa_status hsa_memory_allocate_fn(struct hsa_handle, size_t, void **);
typedef hsa_status hsa_memory_free_fn(void *);
typedef hsa_status hsa_amd_memory_pool_allocate_fn(struct hsa_handle, size_t, uint32_t, void **);
typedef hsa_status hsa_amd_ipc_memory_attach_fn(const void *, size_t, uint32_t, const hsa_agent *,
	void **);
typedef hsa_status hsa_amd_vmem_map_fn(void *, size_t, size_t, struct hsa_handle, uint64_t);
typedef hsa_status hsa_amd_vmem_unmap_fn(void *, size_t);
typedef hsa_status hsa_amd_signal_create_fn(int64_t, uint32_t, const hsa_agent *, uint64_t,
	hsa_signal *);
#define HSA_AMD_SIGNAL_GPU_ONLY 1u
typedef void hsa_amd_intercept_writer(const void *, uint64_t);
typedef void hsa_amd_intercept_handler(const void *, uint64_t, uint64_t, void *,
	hsa_amd_intercept_writer *);
typedef hsa_status hsa_amd_queue_intercept_register_fn(struct hsa_queue *,
	hsa_amd_intercept_handler *, void *);

#endif
