// SPDX-License-Identifier: MIT
/*
 * KFD ioctls. Argument structures grew over time, so the request number of one call differs
 * between user spaces. Like the kernel: dispatch on the number alone, work on a zero-extended copy,
 * copy back what the caller knows.
 */
#include "fault.h"
#include "vgpu.h"

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

union kfd_args {
	char raw[1024];
	struct kfd_ioctl_get_version_args version;
	struct kfd_ioctl_create_queue_args create_queue;
	struct kfd_ioctl_destroy_queue_args destroy_queue;
	struct kfd_ioctl_update_queue_args update_queue;
	struct kfd_ioctl_set_cu_mask_args cu_mask;
	struct kfd_ioctl_get_clock_counters_args clocks;
	struct kfd_ioctl_get_process_apertures_args apertures;
	struct kfd_ioctl_get_process_apertures_new_args apertures_new;
	struct kfd_ioctl_create_event_args create_event;
	struct kfd_ioctl_set_event_args event;
	struct kfd_ioctl_wait_events_args wait;
	struct kfd_ioctl_get_tile_config_args tile;
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc;
	struct kfd_ioctl_free_memory_of_gpu_args free;
	struct abi_kfd_available_memory available;
	struct kfd_ioctl_map_memory_to_gpu_args map;
	struct kfd_ioctl_set_xnack_mode_args xnack;
	struct kfd_ioctl_alloc_queue_gws_args gws;
	struct abi_kfd_export_dmabuf export;
	struct kfd_ioctl_get_dmabuf_info_args dmabuf_info;
	struct kfd_ioctl_import_dmabuf_args import;
	struct abi_kfd_ipc_export ipc_export;
	struct abi_kfd_ipc_import ipc_import;
	struct abi_kfd_runtime_enable runtime;
};

static int get_version(union kfd_args *a)
{
	a->version.major_version = 1;
	a->version.minor_version = (uint32_t)vg_proc()->conf.kfd_minor;
	return 0;
}

static int create_queue(union kfd_args *a)
{
	int gpu = vg_gpu_index(a->create_queue.gpu_id);
	int err = vg_fault__call(VG_FAULT_CREATE_QUEUE, gpu, 0);

	if (err)
		return err;
	if (vg_fault__gpu_lost(gpu))
		return -EIO; /* the driver, when the scheduler hangs */
	return vg_queue__create(&a->create_queue);
}

static int destroy_queue(union kfd_args *a)
{
	return vg_queue__destroy(a->destroy_queue.queue_id);
}

static int update_queue(union kfd_args *a)
{
	return vg_queue__update(&a->update_queue);
}

static int set_cu_mask(union kfd_args *a)
{
	return vg_queue__set_cu_mask(&a->cu_mask);
}

static int get_clock_counters(union kfd_args *a)
{
	int gpu = a->clocks.gpu_id ? vg_gpu_index(a->clocks.gpu_id) : -1;
	struct vg_clock_reading now;

	if (a->clocks.gpu_id && gpu < 0)
		return -EINVAL;
	now = vg_clock__read(gpu);
	a->clocks.cpu_clock_counter = now.raw;
	a->clocks.system_clock_counter = now.system;
	a->clocks.gpu_clock_counter = now.ticks;
	a->clocks.system_clock_freq = 1000000000u;
	return 0;
}

/*
 * gfx9: LDS and scratch apertures outside the canonical range. The GPU's address space is all of
 * the CPU's, which makes the thunk hand out plain mmap() addresses.
 */
static void fill_aperture(struct kfd_process_device_apertures *p, int gpu)
{
	*p = (struct kfd_process_device_apertures){
		.lds_base = 0x1000000000000ull,
		.lds_limit = 0x10000ffffffffull,
		.scratch_base = 0x2000000000000ull,
		.scratch_limit = 0x20000ffffffffull,
		.gpuvm_base = 0x4000,
		.gpuvm_limit = (1ull << 47) - 1,
		.gpu_id = VG_GPU_ID(gpu),
	};
}

static int get_apertures(union kfd_args *a)
{
	int cnt = vg_proc()->conf.gpu_cnt;

	if (cnt > NUM_OF_SUPPORTED_GPUS)
		cnt = NUM_OF_SUPPORTED_GPUS;
	for (int i = 0; i < cnt; i++)
		fill_aperture(&a->apertures.process_apertures[i], i);
	a->apertures.num_of_nodes = (uint32_t)cnt;
	return 0;
}

static int get_apertures_new(union kfd_args *a)
{
	struct kfd_process_device_apertures *p =
		(void *)(uintptr_t)a->apertures_new.kfd_process_device_apertures_ptr;
	uint32_t cnt = (uint32_t)vg_proc()->conf.gpu_cnt;

	for (uint32_t i = 0; p && i < cnt && i < a->apertures_new.num_of_nodes; i++)
		fill_aperture(&p[i], (int)i);
	a->apertures_new.num_of_nodes = cnt;
	return 0;
}

static int create_event(union kfd_args *a)
{
	int err = vg_fault__call(VG_FAULT_CREATE_EVENT, -1, 0);

	return err ? err : vg_event__create(&a->create_event);
}

static int destroy_event(union kfd_args *a)
{
	return vg_event__destroy(a->event.event_id);
}

static int set_event(union kfd_args *a)
{
	return vg_event__set(a->event.event_id);
}

static int reset_event(union kfd_args *a)
{
	return vg_event__reset(a->event.event_id);
}

static int wait_events(union kfd_args *a)
{
	return vg_event__wait(&a->wait);
}

static int get_tile_config(union kfd_args *a)
{
	/* only images need it */
	a->tile.gb_addr_config = 0x24000042;
	a->tile.num_banks = a->tile.num_ranks = 1;
	a->tile.num_tile_configs = a->tile.num_macro_tile_configs = 0;
	return 0;
}

static int alloc_memory(union kfd_args *a)
{
	int gpu = vg_gpu_index(a->alloc.gpu_id);
	int err = vg_fault__call(VG_FAULT_ALLOC, gpu, a->alloc.size);

	if (!err && vg_fault__gpu_lost(gpu))
		err = -ENODEV;
	return err ? err : vg_mem__alloc(&a->alloc);
}

static int free_memory(union kfd_args *a)
{
	return vg_mem__free(a->free.handle);
}

/* One address space: every GPU sees everything. */
static int map_memory(union kfd_args *a)
{
	const uint32_t *id = (const uint32_t *)(uintptr_t)a->map.device_ids_array_ptr;
	uint32_t i;

	for (i = a->map.n_success; id && i < a->map.n_devices; i++) {
		int gpu = vg_gpu_index(id[i]);
		int err = vg_fault__call(VG_FAULT_MAP, gpu, 0);

		if (!err && vg_fault__gpu_lost(gpu))
			err = -ENODEV; /* page tables can no longer be written */
		if (err) {
			a->map.n_success = i;
			return err;
		}
	}
	a->map.n_success = a->map.n_devices;
	return 0;
}

static int unmap_memory(union kfd_args *a)
{
	a->map.n_success = a->map.n_devices;
	return 0;
}

static int set_xnack_mode(union kfd_args *a)
{
	if (a->xnack.xnack_enabled > 0)
		return -EPERM;
	a->xnack.xnack_enabled = 0;
	return 0;
}

static int available_memory(union kfd_args *a)
{
	int gpu = vg_gpu_index(a->available.gpu_id);

	if (gpu < 0)
		return -EINVAL;
	a->available.available = vg_proc()->conf.model->vram_bytes - vg_mem__vram_used(gpu);
	return 0;
}

static int get_dmabuf_info(union kfd_args *a)
{
	int fd = (int)a->dmabuf_info.dmabuf_fd;
	void *to = (void *)(uintptr_t)a->dmabuf_info.metadata_ptr;
	uint32_t room = a->dmabuf_info.metadata_size;
	struct vg_file_info info;
	struct vg_file_meta meta;
	int err = vg_file__inspect(fd, &info);

	if (!err && (!info.sealed || info.gpu < 0 || info.gpu >= vg_proc()->conf.gpu_cnt))
		err = -EINVAL;
	if (!err)
		err = vg_file__read_meta(fd, &info, &meta);
	if (err)
		return err;
	a->dmabuf_info.size = info.size;
	a->dmabuf_info.flags = info.flags;
	a->dmabuf_info.gpu_id = VG_GPU_ID(info.gpu);
	a->dmabuf_info.metadata_size = meta.size;
	if (to && meta.size)
		memcpy(to, meta.data, meta.size < room ? meta.size : room);
	return 0;
}

/* A second address for the same pages. */
static int import_dmabuf(union kfd_args *a)
{
	uint64_t handle = 0;
	int err;

	if (vg_gpu_index(a->import.gpu_id) < 0)
		return -EINVAL;
	err = vg_mem__import((int)a->import.dmabuf_fd, a->import.va_addr, &handle);
	a->import.handle = handle;
	return err;
}

static int ipc_export(union kfd_args *a)
{
	return vg_mem__ipc_export(&a->ipc_export);
}

static int ipc_import(union kfd_args *a)
{
	return vg_mem__ipc_import(&a->ipc_import);
}

static int export_dmabuf(union kfd_args *a)
{
	int fd = vg_mem__export(a->export.handle);

	if (fd < 0)
		return fd;
	a->export.dmabuf_fd = (uint32_t)fd;
	return 0;
}

static int alloc_gws(union kfd_args *a)
{
	a->gws.first_gws = 0;
	return 0;
}

/* A runtime is here to which a debugger could attach: one a process, until it is disabled. */
static int runtime_enable(union kfd_args *a)
{
	_Atomic uint32_t *enabled = &vg_proc()->runtime_enabled;
	uint32_t want = a->runtime.mode_mask & ABI_RUNTIME_ENABLE;

	a->runtime.capabilities_mask = 0;
	return atomic_exchange_explicit(enabled, want, memory_order_relaxed) && want ? -EBUSY : 0;
}

static int nothing(union kfd_args *a)
{
	(void)a;
	return 0;
}

static const struct {
	const char *name;
	int (*run)(union kfd_args *a);
} calls[] = {
	[0x01] = {"GET_VERSION", get_version},
	[0x02] = {"CREATE_QUEUE", create_queue},
	[0x03] = {"DESTROY_QUEUE", destroy_queue},
	[0x04] = {"SET_MEMORY_POLICY", nothing},
	[0x05] = {"GET_CLOCK_COUNTERS", get_clock_counters},
	[0x06] = {"GET_PROCESS_APERTURES", get_apertures},
	[0x07] = {"UPDATE_QUEUE", update_queue},
	[0x08] = {"CREATE_EVENT", create_event},
	[0x09] = {"DESTROY_EVENT", destroy_event},
	[0x0a] = {"SET_EVENT", set_event},
	[0x0b] = {"RESET_EVENT", reset_event},
	[0x0c] = {"WAIT_EVENTS", wait_events},
	[0x11] = {"SET_SCRATCH_BACKING_VA", nothing},
	[0x12] = {"GET_TILE_CONFIG", get_tile_config},
	[0x13] = {"SET_TRAP_HANDLER", nothing},
	[0x14] = {"GET_PROCESS_APERTURES_NEW", get_apertures_new},
	[0x15] = {"ACQUIRE_VM", nothing},
	[0x16] = {"ALLOC_MEMORY_OF_GPU", alloc_memory},
	[0x17] = {"FREE_MEMORY_OF_GPU", free_memory},
	[0x18] = {"MAP_MEMORY_TO_GPU", map_memory},
	[0x19] = {"UNMAP_MEMORY_FROM_GPU", unmap_memory},
	[0x1a] = {"SET_CU_MASK", set_cu_mask},
	[0x1c] = {"GET_DMABUF_INFO", get_dmabuf_info},
	[0x1d] = {"IMPORT_DMABUF", import_dmabuf},
	[0x1e] = {"ALLOC_QUEUE_GWS", alloc_gws},
	[0x20] = {"SVM", nothing},
	[0x21] = {"SET_XNACK_MODE", set_xnack_mode},
	[0x23] = {"AVAILABLE_MEMORY", available_memory},
	[0x24] = {"EXPORT_DMABUF", export_dmabuf},
	[0x25] = {"RUNTIME_ENABLE", runtime_enable},
	[ABI_KFD_IPC_IMPORT] = {"IPC_IMPORT_HANDLE", ipc_import},
	[ABI_KFD_IPC_EXPORT] = {"IPC_EXPORT_HANDLE", ipc_export},
};

int vg_kfd__ioctl(unsigned long request, void *arg)
{
	unsigned nr = _IOC_NR(request), size = _IOC_SIZE(request);
	bool known = nr < sizeof calls / sizeof *calls && calls[nr].run;
	union kfd_args a;
	int err;

	if (size > sizeof a || (size && !arg))
		return -EINVAL;
	memset(&a, 0, sizeof a);
	if (size)
		memcpy(&a, arg, size);
	err = !known                          ? -ENOTTY
	      : nr == _IOC_NR(AMDKFD_IOC_SVM) ? vg_svm__call(&a, size) /* ends in an array */
					      : calls[nr].run(&a);
	if (size) /* after a failure too, as the driver does */
		memcpy(arg, &a, size);
	TRACE(1, "kfd %s (0x%02x, %u bytes) = %d", known ? calls[nr].name : "?", nr, size, err);
	return err;
}
