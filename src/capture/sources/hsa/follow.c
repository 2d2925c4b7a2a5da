// SPDX-License-Identifier: MIT
/*
 * Queues that another tool makes interceptible. The application then writes
 * into the runtime's proxy ring, and the tool's handler rewrites the packets.
 * Handlers run in reverse order of registration.
 *
 * Where the tool was loaded after us, its call to make the queue passes here:
 * our handler is the first, runs last, next to the hardware, sees the signals
 * that the tool put in and reads their stamps; a packet that has none gets one
 * of the pool. Where the tool was there before us, ours runs first: we look on
 * and change nothing, and the operations have no times.
 */
#include "capture/sources/hsa/hsa.h"

#include <string.h>

#define BATCH 16u

static void on_packets(const void *packets, uint64_t cnt, uint64_t index, void *arg,
	hsa_amd_intercept_writer *write)
{
	struct wt_vq *vq = arg;
	const struct hsa_dispatch_packet *in = packets;
	struct hsa_dispatch_packet out[BATCH];

	for (uint64_t done = 0; done < cnt;) {
		uint64_t n = cnt - done < BATCH ? cnt - done : BATCH;

		memcpy(out, in + done, n * sizeof(*out));
		for (uint64_t i = 0; i < n; i++)
			wt_packet__describe(vq, index, &out[i]);
		if (vq->shared)
			atomic_store_explicit(&vq->shared->submitted, index + 1,
				memory_order_release);
		write(out, n);
		done += n;
	}
	vq->next = index + 1;
}

bool wt_follow__register(struct wt_vq *vq)
{
	return AMD(hsa_amd_queue_intercept_register, hsa_amd_queue_intercept_register_fn)(
		       vq->queue, on_packets, vq) == HSA_OK;
}

static hsa_status intercept_create(hsa_agent agent, uint32_t size, uint32_t type,
	void (*callback)(hsa_status, struct hsa_queue *, void *), void *data,
	uint32_t private_bytes, uint32_t group_bytes, struct hsa_queue **queue)
{
	hsa_status status = AMD(hsa_amd_queue_intercept_create, hsa_queue_create_fn)(agent, size,
		type, callback, data, private_bytes, group_bytes, queue);

	if (status == HSA_OK && queue && *queue && wt_hsa__recording())
		wt_queue__adopt(*queue, agent, WT_QUEUE_INTERCEPT);
	return status;
}

void wt_follow__install(struct hsa_table *amd)
{
	wt_hsa__replace_amd(amd, HSA_AMD_hsa_amd_queue_intercept_create, (void *)intercept_create);
}
