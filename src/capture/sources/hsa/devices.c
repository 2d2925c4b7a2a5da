// SPDX-License-Identifier: MIT
/*
 * GPUs, and pairs of their clock with CLOCK_BOOTTIME: read by the driver, or, where that cannot be
 * asked, as the runtime converts ticks.
 */
#include "capture/sources/hsa/hsa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JUDGE_NS   1000000 /* over less, readings do not tell of a rate */
#define SPAN_TICKS 100000000ull /* distance of the two ticks that give the rate */

/*
 * A device keeps its number when the runtime is started again and hands out
 * other agents; it is told of once. Under the lock. False: there are too many.
 */
static bool give_number(struct wt_device *device, const struct wt_rec_device *rec, bool *fresh)
{
	static struct {
		uint32_t node, bdf;
	} known[HSA_DEVICES];
	static uint32_t known_cnt;

	*fresh = false;
	for (uint32_t i = 0; i < known_cnt; i++)
		if (known[i].node == rec->node && known[i].bdf == rec->bdf) {
			device->number = i;
			return true;
		}
	if (known_cnt == HSA_DEVICES)
		return false;
	*fresh = true;
	device->number = known_cnt;
	known[known_cnt].node = rec->node;
	known[known_cnt++].bdf = rec->bdf;
	return true;
}

struct gpus {
	hsa_agent agents[HSA_DEVICES];
	uint32_t cnt; /* may be more */
};

static hsa_status on_agent(hsa_agent agent, void *arg)
{
	struct gpus *gpus = arg;
	uint32_t kind = 0;

	CORE(hsa_agent_get_info, hsa_agent_get_info_fn)(agent, HSA_AGENT_DEVICE, &kind);
	if (kind != HSA_DEVICE_GPU)
		return HSA_OK;
	if (gpus->cnt < HSA_DEVICES)
		gpus->agents[gpus->cnt] = agent;
	gpus->cnt++;
	return HSA_OK;
}

static bool add(hsa_agent agent, uint32_t index, uint32_t shown_cnt)
{
	uint32_t cnt = atomic_load_explicit(&wt_hsa.device_cnt, memory_order_relaxed);
	struct wt_device *device = &wt_hsa.devices[cnt];
	struct wt_rec_device rec;
	bool fresh;

	*device = (struct wt_device){.agent = agent};
	wt_device__describe(agent, &rec);
	if (!give_number(device, &rec, &fresh))
		return false;
	if (rec.node != UINT32_MAX)
		device->kfd_id = wt_counter__of_node(rec.node);
	rec.rec.id = device->number;
	rec.index = index;
	rec.shown_cnt = shown_cnt;
	if (fresh)
		wt_define(&rec.rec, sizeof(rec), NULL, 0);
	/* release: the entry is whole before it is counted */
	atomic_store_explicit(&wt_hsa.device_cnt, cnt + 1, memory_order_release);
	return true;
}

static void find_all(void)
{
	struct gpus gpus = {.cnt = 0};
	uint32_t added = 0;
	char text[96];

	CORE(hsa_iterate_agents, hsa_iterate_agents_fn)(on_agent, &gpus);
	for (uint32_t i = 0; i < gpus.cnt && i < HSA_DEVICES; i++)
		added += add(gpus.agents[i], i, gpus.cnt);
	wt_hsa.unknown_device_cnt = gpus.cnt - added;
	if (added == gpus.cnt)
		return;
	snprintf(text, sizeof(text), "of %u GPUs, %u are not recorded: more than %u are not known",
		gpus.cnt, gpus.cnt - added, HSA_DEVICES);
	wt_define__status("hsa", 2, text);
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
		wt_versions__tell();
		find_all();
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
		.width_ns = UINT32_MAX,
	};
	struct wt_reading reading;
	uint64_t ns, later;

	/* two queues at once: the first test of the device is as good as the second */
	if (atomic_load_explicit(&device->seed_ticks, memory_order_acquire))
		return;
	if (device->kfd_id && !(wt_counter__read(device->kfd_id, &reading) &&
				      wt_counter__follows(&reading, ticks)))
		device->kfd_id = 0;
	if (device->kfd_id) {
		/* release: the keeper that sees it sees the rest */
		atomic_store_explicit(&device->seed_ticks, ticks, memory_order_release);
		wt_device__sample(device);
		return;
	}
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
static bool estimate(const struct wt_device *device, struct wt_rec_gpu_clock *rec)
{
	uint64_t seed_ticks = atomic_load_explicit(&device->seed_ticks, memory_order_relaxed);

	rec->ticks = seed_ticks + (uint64_t)(int64_t)((double)(int64_t)(rec->taken_ns -
						  device->seed_ns) * device->ticks_per_ns);
	rec->width_ns = UINT32_MAX;
	return convert(device, rec->ticks, &rec->ns);
}

static bool read_counter(
	const struct wt_device *device, struct wt_rec_gpu_clock *rec, struct wt_reading *reading)
{
	if (!wt_counter__read(device->kfd_id, reading))
		return false;
	rec->ticks = reading->ticks;
	rec->ns = reading->ns;
	rec->width_ns =
		reading->width_ns < UINT32_MAX ? (uint32_t)reading->width_ns : UINT32_MAX - 1;
	return true;
}

/* `reading`: filled in where the driver was asked. */
static bool sample(struct wt_device *device, uint32_t gap_ns, struct wt_reading *reading)
{
	struct wt_rec_gpu_clock rec = {
		.rec = {.type = WT_REC_GPU_CLOCK, .id = device->number},
		.taken_ns = wt_clock__boottime_ns(),
		.gap_ns = gap_ns,
	};

	/* acquire: pairs with the release in wt_device__seed */
	if (!atomic_load_explicit(&device->seed_ticks, memory_order_acquire))
		return false;
	if (!(device->kfd_id ? read_counter(device, &rec, reading) : estimate(device, &rec)))
		return false;
	wt_define(&rec.rec, sizeof(rec), NULL, 0);
	return device->kfd_id != 0;
}

void wt_device__sample(struct wt_device *device)
{
	struct wt_reading reading;

	sample(device, 0, &reading);
}

/*
 * The runtime converts along one line from its start to now. Over a suspend
 * that is no line, and it stays wrong: its start is never moved.
 */
static void judge_runtime(struct wt_device *device, const struct wt_reading *now)
{
	const struct wt_reading *last = &device->last;
	int64_t true_ns = (int64_t)(now->ns - last->ns), said;
	uint64_t from, to;

	if (last->ns && true_ns < JUDGE_NS)
		return;
	if (last->ns) {
		said = convert(device, now->ticks, &to) && convert(device, last->ticks, &from)
			       ? (int64_t)(to - from)
			       : 0;
		if (llabs(said - true_ns) > true_ns / 1000 + 20000)
			atomic_store_explicit(&device->runtime_off, true, memory_order_relaxed);
	}
	device->last = *now;
}

void wt_devices__sample_all(uint32_t gap_ns)
{
	uint32_t cnt = atomic_load_explicit(&wt_hsa.device_cnt, memory_order_acquire);

	for (uint32_t i = 0; i < cnt; i++) {
		struct wt_device *device = &wt_hsa.devices[i];
		struct wt_reading now;

		/* nothing is known from before to judge by */
		if (gap_ns && !device->last.ns)
			atomic_store_explicit(&device->runtime_off, true, memory_order_relaxed);
		if (sample(device, gap_ns, &now))
			judge_runtime(device, &now);
	}
}

bool wt_device__runtime_holds(uint32_t number)
{
	uint32_t cnt = atomic_load_explicit(&wt_hsa.device_cnt, memory_order_acquire);

	for (uint32_t i = 0; i < cnt; i++)
		if (wt_hsa.devices[i].number == number &&
			atomic_load_explicit(&wt_hsa.devices[i].runtime_off, memory_order_relaxed))
			return false;
	return !wt_keeper__slept();
}
