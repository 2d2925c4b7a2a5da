// SPDX-License-Identifier: MIT
/*
 * The memory files that stand for /dev/kfd and the render nodes. A descriptor is recognised by
 * (device, inode) of its file, so dup() and F_DUPFD (libdrm duplicates the render node) need no
 * bookkeeping. An mmap of a render node is a buffer's (mem.c), that of /dev/kfd one of its file.
 */
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int memfile(const char *name, int64_t bytes, uint64_t *ino, uint64_t *dev)
{
	int fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, bytes) || syscall(SYS_fstat, fd, &st)) {
		int err = -errno;

		close(fd);
		return err;
	}
	*ino = st.st_ino;
	*dev = st.st_dev;
	return fd;
}

static void device_make(struct vg_proc *p)
{
	int err = 0;

	p->kfd_fd = memfile("vgpu-kfd", (int64_t)VG_KFD_BYTES, &p->kfd_ino, &p->file_dev);
	if (p->kfd_fd < 0)
		err = p->kfd_fd;
	for (int i = 0; !err && i < p->conf.gpu_cnt; i++) {
		long m = syscall(SYS_mmap, NULL, VG_BELL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			p->kfd_fd, VG_BELL_OFFSET(i));

		p->drm_fd[i] = memfile("vgpu-drm", 0, &p->drm_ino[i], &p->file_dev);
		if (p->drm_fd[i] < 0)
			err = p->drm_fd[i];
		else if (m < 0 && m > -4096)
			err = -ENOMEM;
		p->bells[i] = (char *)m;
	}
	if (err) {
		p->kfd_fd = err;
		vg_trace("no memory files for the devices: error %d", -err);
	}
}

int vg_gpu_index(uint32_t gpu_id)
{
	uint32_t i = gpu_id - VG_GPU_ID(0);

	return i < (uint32_t)vg_proc()->conf.gpu_cnt ? (int)i : -1;
}

int vg_device__start(void)
{
	struct vg_proc *p = vg_proc();

	vg_once(&p->device_ready, device_make);
	return p->kfd_fd < 0 ? p->kfd_fd : 0;
}

int vg_device__fd_kind(int fd)
{
	struct vg_proc *p = vg_proc();
	struct stat st;

	if (fd < 0 || atomic_load_explicit(&p->device_ready, memory_order_acquire) != 2)
		return VG_FD_NONE;
	if (syscall(SYS_fstat, fd, &st) || st.st_dev != p->file_dev)
		return VG_FD_NONE;
	if (st.st_ino == p->kfd_ino)
		return VG_FD_KFD;
	for (int i = 0; i < p->conf.gpu_cnt; i++)
		if (st.st_ino == p->drm_ino[i])
			return 1 + i;
	return VG_FD_NONE;
}

int vg_device__open(int kind, bool cloexec)
{
	struct vg_proc *p = vg_proc();
	int err = vg_device__start();

	if (err)
		return err;
	if (kind > p->conf.gpu_cnt)
		return -ENOENT;
	err = (int)syscall(SYS_fcntl, kind == VG_FD_KFD ? p->kfd_fd : p->drm_fd[kind - 1],
		cloexec ? F_DUPFD_CLOEXEC : F_DUPFD, 3);
	return err < 0 ? -errno : err;
}
