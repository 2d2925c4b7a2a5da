// SPDX-License-Identifier: MIT
/* GPUs, and pairs of their clock with CLOCK_BOOTTIME as the runtime converts it. */
#include "capture/sources/hsa/hsa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_TICKS 100000000ull /* distance of the two ticks that give the rate */

static void get(hsa_agent agent, uint32_t what, void *value)
{
	CORE(hsa_agent_get_info, hsa_agent_get_info_fn)(agent, what, value);
}

/*
 * A device keeps its number when the runtime is started again and hands out
 * other agents; it is told of once. Under the lock. False: known already.
 */
static bool give_number(struct wt_device *device, const struct wt_rec_device *rec)
{
	static struct {
		uint32_t node, bdf;
	} known[HSA_DEVICES];
	static uint32_t known_cnt;

	for (uint32_t i = 0; i < known_cnt; i++)
		if (known[i].node == rec->node && known[i].bdf == rec->bdf) {
			device->number = i;
			return false;
		}
	device->number = known_cnt;
	if (known_cnt == HSA_DEVICES)
		return false;
	known[known_cnt].node = rec->node;
	known[known_cnt++].bdf = rec->bdf;
	return true;
}

static void announce(struct wt_device *device)
{
	struct wt_rec_device rec = {
		.rec = {.type = WT_REC_DEVICE},
		.agent = device->agent.handle,
		.node = UINT32_MAX,
		.bdf = UINT32_MAX,
	};
	char name[64] = "", product[64] = "", uuid[64] = "";

	get(device->agent, HSA_AGENT_DRIVER_NODE, &rec.node);
	get(device->agent, HSA_AGENT_BDFID, &rec.bdf);
	if (!give_number(device, &rec))
		return;
	rec.rec.id = device->number;
	get(device->agent, HSA_AGENT_NAME, name);
	get(device->agent, HSA_AGENT_PRODUCT_NAME, product);
	get(device->agent, HSA_AGENT_UUID, uuid);
	get(device->agent, HSA_AGENT_COMPUTE_UNITS, &rec.compute_units);
	get(device->agent, HSA_AGENT_CLOCK_MHZ, &rec.clock_mhz);
	if (!strncmp(uuid, "GPU-", 4))
		rec.uuid = strtoull(uuid + 4, NULL, 16);
	name[sizeof(name) - 1] = product[sizeof(product) - 1] = 0;
	snprintf(rec.arch, sizeof(rec.arch), "%.*s", (int)sizeof(rec.arch) - 1, name);
	snprintf(rec.name, sizeof(rec.name), "%s", product);
	wt_define(&rec.rec, sizeof(rec), NULL, 0);
}

static hsa_status on_agent(hsa_agent agent, void *unused)
{
	uint32_t kind = 0, cnt = atomic_load_explicit(&wt_hsa.device_cnt, memory_order_relaxed);

	(void)unused;
	get(agent, HSA_AGENT_DEVICE, &kind);
	if (kind != HSA_DEVICE_GPU || cnt == HSA_DEVICES)
		return HSA_OK;
	wt_hsa.devices[cnt] = (struct wt_device){.agent = agent};
	announce(&wt_hsa.devices[cnt]);
	/* release: the entry is whole before it is counted */
	atomic_store_explicit(&wt_hsa.device_cnt, cnt + 1, memory_order_release);
	return HSA_OK;
}

/* Once a start of the runtime; the first queue, module or copy asks for it. */
void wt_devices__find(void)
{
	static uint32_t found_load;
	struct wt_lock *lock = &wt_process.live->source_lock[0];
	struct wt_hold hold;

	wt_lock__take(lock, &hold);
	if (found_load != wt_hsa.load_cnt) {
		atomic_store_explicit(&wt_hsa.device_cnt, 0, memory_order_relaxed);
		CORE(hsa_iterate_agents, hsa_iterate_agents_fn)(on_agent, NULL);
		AMD(hsa_amd_profiling_async_copy_enable, hsa_amd_profiling_async_copy_enable_fn)
		(true);
		found_load = wt_hsa.load_cnt;
	}
	wt_lock__drop(lock, &hold);
}

struct wt_device *wt_device__of(hsa_agent agent)
{
	/* acquire: pairs with the release in on_agent */
	uint32_t cnt = atomic_load_explicit(&wt_hsa.device_cnt, memory_order_acquire);

	for (uint32_t i = 0; i < cnt; i++)
		if (wt_hsa.devices[i].agent.handle == agent.handle)
			return &wt_hsa.devices[i];
	return NULL;
}

static bool convert(const struct wt_device *device, uint64_t ticks, uint64_t *ns)
{
	return AMD(hsa_amd_profiling_convert_tick_to_system_domain,
		       hsa_amd_profiling_convert_tick_fn)(device->agent, ticks, ns) == HSA_OK &&
	       *ns;
}

void wt_device__seed(struct wt_device *device, uint64_t ticks)
{
	struct wt_rec_gpu_clock rec = {
		.rec = {.type = WT_REC_GPU_CLOCK, .id = device->number},
		.ticks = ticks,
		.taken_ns = wt_clock__boottime_ns(),
	};
	uint64_t ns, later;

	/* two queues at once: the first test of the device is as good as the second */
	if (atomic_load_explicit(&device->seed_ticks, memory_order_acquire))
		return;
	if (!convert(device, ticks, &ns) || !convert(device, ticks + SPAN_TICKS, &later) ||
		later <= ns)
		return;
	rec.ns = ns;
	wt_define(&rec.rec, sizeof(rec), NULL, 0);
	device->ticks_per_ns = (double)SPAN_TICKS / (double)(later - ns);
	device->seed_ns = ns;
	/* release: the keeper that sees it sees the rest */
	atomic_store_explicit(&device->seed_ticks, ticks, memory_order_release);
	wt_device__sample(device);
}

/* A pair for about now. The tick is our estimate; the time is the runtime's word on it. */
void wt_device__sample(struct wt_device *device)
{
	struct wt_rec_gpu_clock rec = {
		.rec = {.type = WT_REC_GPU_CLOCK, .id = device->number},
	};
	/* acquire: pairs with the release in wt_device__seed */
	uint64_t seed_ticks = atomic_load_explicit(&device->seed_ticks, memory_order_acquire);

	if (!seed_ticks)
		return;
	rec.taken_ns = wt_clock__boottime_ns();
	rec.ticks = seed_ticks + (uint64_t)(int64_t)((double)(int64_t)(rec.taken_ns -
						 device->seed_ns) * device->ticks_per_ns);
	if (convert(device, rec.ticks, &rec.ns))
		wt_define(&rec.rec, sizeof(rec), NULL, 0);
}

void wt_devices__sample_all(void)
{
	uint32_t cnt = atomic_load_explicit(&wt_hsa.device_cnt, memory_order_acquire);

	for (uint32_t i = 0; i < cnt; i++)
		wt_device__sample(&wt_hsa.devices[i]);
}
