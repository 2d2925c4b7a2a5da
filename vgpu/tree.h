// SPDX-License-Identifier: MIT
/* Writes the files of the private directory, and the parts that its contents come from. */
#ifndef VGPU_TREE_H
#define VGPU_TREE_H

#include "vgpu.h"

/* Paths below one root; the first failure sticks. */
struct vg_tree {
	const char *root;
	int err;
};

#define VG_NODES "/sys/devices/virtual/kfd/kfd/topology/nodes"

void vg_tree__data(struct vg_tree *t, const char *file, const void *data, size_t bytes);
void vg_tree__text(struct vg_tree *t, const char *file, const char *text);
void vg_tree__put(struct vg_tree *t, const char *file, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void vg_tree__dir(struct vg_tree *t, const char *dir);
void vg_tree__link(struct vg_tree *t, const char *file, const char *target);

/* A file in a directory: put_in(t, dir, "name", "format", ...). */
void vg_tree__in(struct vg_tree *t, const char *dir, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

void vg_sysfs__kfd(struct vg_tree *t, const struct vg_conf *conf); /* topology */
int vg_sysfs__links(struct vg_tree *t, int node, int gpu_cnt);     /* their number */
int vg_sysfs__peer_links(struct vg_tree *t, int node, int gpu_cnt, bool xgmi);
void vg_sysfs__pci(struct vg_tree *t, int gpu, const struct vg_model *m);
void vg_sysfs__hwmon(struct vg_tree *t, int gpu, const char *device, const struct vg_model *m);
/* The files whose contents change: all of them, or those that a path concerns. */
void vg_sysfs__live(struct vg_tree *t, const struct vg_conf *conf);
void vg_sysfs__proc(struct vg_tree *t, const struct vg_conf *conf); /* this process in kfd/proc */
/* A directory of the machine's with our devices in it: the machine's entries, as links. */
void vg_tree__overlay(struct vg_tree *t, const char *dir);
/* Writes the gpu_metrics file of a model; returns its length, 0 if there is no room. */
size_t vg_metrics(const struct vg_model *m, unsigned busy_percent, void *out, size_t room);

#define VG_HWMON0       1000                  /* no machine has so many sensors of its own */
#define VG_HIVE_ID      0x5647505548495645ull /* of the GPUs that xGMI connects */
#define VG_UNIQUE_ID(i) (0x5647505500000000ull + (unsigned)(i))

/* PCI: bus 3 and up, device 0, function 0. */
#define VG_PCI_BUS(gpu) (3u + (unsigned)(gpu))
#define VG_BDF_MAX      16
void vg_pci_name(int gpu, char name[VG_BDF_MAX]);  /* 0000:03:00.0 */
void vg_pci_dir(int gpu, char *dir, size_t bytes); /* /sys/devices/... */

#endif
