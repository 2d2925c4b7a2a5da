// SPDX-License-Identifier: MIT
/* The links between the nodes of the KFD topology. */
#include "tree.h"

static void put_link(struct vg_tree *t, int from, int index, int to)
{
	char f[160];

	snprintf(f, sizeof f, VG_NODES "/%d/io_links/%d/properties", from, index);
	/* type 2: PCI Express. flags: bit 0 enabled, none of the "no atomics" bits, so that ROCr's
	 * SDMA completes signals with an atomic and not with a fence. */
	vg_tree__put(t, f,
		"type 2\nversion_major 0\nversion_minor 0\nnode_from %d\nnode_to %d\nweight 20\n"
		"min_latency 0\nmax_latency 0\nmin_bandwidth 312\nmax_bandwidth 31504\n"
		"recommended_transfer_size 0\nrecommended_sdma_engine_id_mask 0\nflags 1\n",
		from, to);
}

int vg_sysfs__links(struct vg_tree *t, int node, int gpu_cnt)
{
	if (node) {
		put_link(t, node, 0, 0);
		return 1;
	}
	for (int i = 0; i < gpu_cnt; i++)
		put_link(t, 0, i, i + 1);
	return gpu_cnt;
}
