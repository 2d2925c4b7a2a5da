// SPDX-License-Identifier: MIT
/* The links between the nodes of the KFD topology. */
#include "tree.h"

enum link_type { LINK_PCIE = 2, LINK_XGMI = 11 };

/* flags: bit 0 enabled, none of the "no atomics" bits, so that ROCr's SDMA completes signals with
 * an atomic and not with a fence. The weights are the driver's: PCIe 20, two such hops 40, xGMI 15.
 */
static void put_link(struct vg_tree *t, const char *kind, int from, int index, int to,
	enum link_type type, int weight)
{
	char f[160];

	snprintf(f, sizeof f, VG_NODES "/%d/%s/%d/properties", from, kind, index);
	vg_tree__put(t, f,
		"type %d\nversion_major 0\nversion_minor 0\nnode_from %d\nnode_to %d\nweight %d\n"
		"min_latency 0\nmax_latency 0\nmin_bandwidth %d\nmax_bandwidth %d\n"
		"recommended_transfer_size 0\nrecommended_sdma_engine_id_mask 0\nflags 1\n",
		type, from, to, weight, type == LINK_XGMI ? 50000 : 312,
		type == LINK_XGMI ? 50000 : 31504);
}

/* Cards that can have xGMI are all connected by it, one hop each; others reach each other over
 * PCIe, which the driver lists apart. */
int vg_sysfs__peer_links(struct vg_tree *t, int node, int gpu_cnt, bool xgmi)
{
	int cnt = 0;

	for (int to = 1; to <= gpu_cnt; to++) {
		if (to == node)
			continue;
		if (xgmi)
			put_link(t, "io_links", node, 1 + cnt++, to, LINK_XGMI, 15);
		else
			put_link(t, "p2p_links", node, cnt++, to, LINK_PCIE, 40);
	}
	return cnt;
}

int vg_sysfs__links(struct vg_tree *t, int node, int gpu_cnt)
{
	if (node) {
		put_link(t, "io_links", node, 0, 0, LINK_PCIE, 20);
		return 1;
	}
	for (int i = 0; i < gpu_cnt; i++)
		put_link(t, "io_links", 0, i, i + 1, LINK_PCIE, 20);
	return gpu_cnt;
}
