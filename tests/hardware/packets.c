// SPDX-License-Identifier: MIT
/*
 * A tool for HSA_TOOLS_LIB that lists the dispatches a runtime writes, for what `run` says about
 * graphs: one line each in $PACKETS_FILE, `grid kernel_object kernarg_address reserved2`.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../doubles/double.h"

typedef void (*packet_writer)(const void *packets, uint64_t count);
typedef void (*packet_handler)(
	const void *packets, uint64_t count, uint64_t index, void *data, packet_writer writer);

static __typeof__(hsa_queue_create) *intercept_create;
static hsa_status_t (*intercept_register)(hsa_queue_t *queue, packet_handler handler, void *data);
static FILE *out;

static void on_packets(
	const void *packets, uint64_t count, uint64_t index, void *data, packet_writer writer)
{
	const hsa_kernel_dispatch_packet_t *p = packets;

	(void)index;
	(void)data;
	for (uint64_t i = 0; i < count; i++)
		if ((p[i].header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
			fprintf(out, "%u %llu %llu %llu\n", p[i].grid_size_x,
				(unsigned long long)p[i].kernel_object,
				(unsigned long long)(uintptr_t)p[i].kernarg_address,
				(unsigned long long)p[i].reserved2);
	writer(packets, count);
}

static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t private_bytes,
	uint32_t group_bytes, hsa_queue_t **queue)
{
	hsa_status_t status = intercept_create(
		agent, size, type, callback, data, private_bytes, group_bytes, queue);

	return status ? status : intercept_register(*queue, on_packets, NULL);
}

__attribute__((visibility("default"))) bool OnLoad(struct hsa_api_root *root, uint64_t version,
	uint64_t failed_cnt, const char *const *failed);
bool OnLoad(
	struct hsa_api_root *root, uint64_t version, uint64_t failed_cnt, const char *const *failed)
{
	int at = root->amd_ext->major == 1 && root->amd_ext->minor < 456 ? 35 : 37;
	const char *path = getenv("PACKETS_FILE");

	(void)version;
	(void)failed_cnt;
	(void)failed;
	out = fopen(path ? path : "/dev/null", "w");
	if (!out)
		return false;
	setvbuf(out, NULL, _IOLBF, 0);
	intercept_create = (__typeof__(intercept_create))root->amd_ext->function[at];
	intercept_register = (__typeof__(intercept_register))root->amd_ext->function[at + 1];
	root->core->function[CORE_hsa_queue_create] = (void *)queue_create;
	return true;
}

__attribute__((visibility("default"))) void OnUnload(void);
void OnUnload(void)
{
}
