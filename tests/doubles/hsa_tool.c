// SPDX-License-Identifier: MIT
/*
 * A tool of the classic kind: every queue becomes an interceptible one, every dispatch is given a
 * signal of the tool's own, names and times go into a report.
 */
#include "double.h"

#include <string.h>

typedef void (*packet_writer)(const void *packets, uint64_t count);
typedef void (*packet_handler)(const void *packets, uint64_t count, uint64_t index, void *data,
	packet_writer writer);

static __typeof__(hsa_queue_create) *intercept_create; /* the same prototype */
static hsa_status_t (*intercept_register)(hsa_queue_t *queue, packet_handler handler, void *data);

static void on_packets(const void *packets, uint64_t count, uint64_t index, void *data,
	packet_writer writer)
{
	const hsa_kernel_dispatch_packet_t *in = packets;

	(void)index;
	for (uint64_t i = 0; i < count; i++) {
		hsa_kernel_dispatch_packet_t packet = in[i];

		if ((packet.header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
			packet.completion_signal = double__inject(data, packet.kernel_object,
				packet.completion_signal);
		writer(&packet, 1);
	}
}

static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_bytes,
	uint32_t group_bytes, hsa_queue_t **queue)
{
	hsa_status_t status = intercept_create(agent, size, type, callback, data, private_bytes,
		group_bytes, queue);

	if (status != HSA_STATUS_SUCCESS)
		return status;
	AMD(hsa_amd_profiling_set_profiler_enabled)(*queue, 1);
	return intercept_register(*queue, on_packets, double_queue__new(agent));
}

__attribute__((visibility("default"))) bool OnLoad(struct hsa_api_root *root, uint64_t version,
	uint64_t failed_cnt, const char *const *failed);
bool OnLoad(struct hsa_api_root *root, uint64_t version, uint64_t failed_cnt,
	const char *const *failed)
{
	int at = root->amd_ext->major == 1 && root->amd_ext->minor < 456 ? 35 : 37;

	(void)version;
	(void)failed_cnt;
	(void)failed;
	intercept_create = (__typeof__(intercept_create))root->amd_ext->function[at];
	intercept_register = (__typeof__(intercept_register))root->amd_ext->function[at + 1];
	double__load(root);
	root->core->function[CORE_hsa_queue_create] = (void *)queue_create;
	return true;
}

__attribute__((visibility("default"))) void OnUnload(void);
void OnUnload(void)
{
}
