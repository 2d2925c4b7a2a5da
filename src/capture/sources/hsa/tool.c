// SPDX-License-Identifier: MIT
/* The HSA tool's entry points: HSA_TOOLS_LIB names this library. */
#include "capture/sources/hsa/hsa.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "capture/source.h"

struct wt_hsa wt_hsa;

/* What the library is for the runtime: before or after other tools. */
wt_export const uint32_t HSA_AMD_TOOL_PRIORITY = 25;

wt_export bool OnLoad(struct hsa_api_table *table, uint64_t runtime_version, uint64_t failed_count,
	const char *const *failed_names);
wt_export void OnUnload(void);

static bool new_order(const struct hsa_table *amd)
{
	return amd->version.minor >= HSA_AMD_INSERTED_SIZE;
}

static unsigned entries(const struct hsa_table *table)
{
	return table->version.minor < sizeof(table->version)
		       ? 0
		       : (unsigned)((table->version.minor - sizeof(table->version)) / sizeof(void *));
}

static unsigned place(const struct hsa_table *amd, unsigned old_index)
{
	return old_index >= HSA_AMD_INSERTED_AT && new_order(amd) ? old_index + 2 : old_index;
}

void wt_hsa__replace_amd(struct hsa_table *amd, unsigned old_index, void *fn)
{
	unsigned at = place(amd, old_index);

	if (at < entries(amd) && wt_hsa.amd_fn[old_index])
		amd->fn[at] = fn;
}

void wt_hsa__replace_core(struct hsa_table *core, const struct wt_replaced *replaced, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		core->fn[replaced[i].index] = replaced[i].fn;
}

static void copy_tables(const struct hsa_api_table *table)
{
	unsigned core_cnt = entries(table->core), amd_cnt = entries(table->amd_ext);

	memset(wt_hsa.core_fn, 0, sizeof(wt_hsa.core_fn));
	memset(wt_hsa.amd_fn, 0, sizeof(wt_hsa.amd_fn));
	for (unsigned i = 0; i < core_cnt && i < HSA_CORE_MAX; i++)
		wt_hsa.core_fn[i] = table->core->fn[i];
	for (unsigned i = 0; i < HSA_AMD_MAX; i++)
		if (place(table->amd_ext, i) < amd_cnt)
			wt_hsa.amd_fn[i] = table->amd_ext->fn[place(table->amd_ext, i)];
}

/* Every entry that we call must be there; a runtime without them is not one we know. */
static const char *missing_entry(void)
{
#define X(name, index)                                                                       \
	if (!wt_hsa.core_fn[index])                                                          \
		return #name;
	HSA_CORE_ENTRIES(X)
#undef X
#define X(name, index)                                                                       \
	if (!wt_hsa.amd_fn[index])                                                           \
		return #name;
	HSA_AMD_ENTRIES(X)
#undef X
	return NULL;
}

/* Entries that do not lie in the runtime itself were replaced by a tool before us. */
static bool other_tool_first(void)
{
	Dl_info runtime, entry;

	if (!dladdr(wt_hsa.core_fn[HSA_CORE_hsa_iterate_agents], &runtime))
		return false;
	static const unsigned watched[] = {HSA_CORE_hsa_queue_create,
		HSA_CORE_hsa_queue_add_write_index_screlease, HSA_CORE_hsa_signal_store_screlease};
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		if (dladdr(wt_hsa.core_fn[watched[i]], &entry) &&
			strcmp(entry.dli_fname, runtime.dli_fname))
			return true;
	return false;
}

bool OnLoad(struct hsa_api_table *table, uint64_t runtime_version, uint64_t failed_count,
	const char *const *failed_names)
{
	const char *missing;
	char text[160];

	(void)failed_count;
	(void)failed_names;
	if (!table || !table->core || !table->amd_ext || !wt_recording())
		return true;
	/* named twice in HSA_TOOLS_LIB: the entries are ours already */
	if (atomic_load_explicit(&wt_hsa.active, memory_order_acquire))
		return true;
	if (wt_process.forked) {
		wt_define__status("hsa", 2, "a forked child cannot use the GPU of its parent");
		return true;
	}
	copy_tables(table);
	missing = missing_entry();
	if (missing) {
		snprintf(text, sizeof(text), "this HSA runtime has no %s", missing);
		wt_define__status("hsa", 2, text);
		return true;
	}
	wt_hsa.foreign = other_tool_first();
	wt_hsa.generation = wt_process.generation;
	wt_hsa.load_cnt++;
	atomic_store_explicit(&wt_process.live->hsa_here, 1, memory_order_release);
	wt_queue__install(table->core, table->amd_ext);
	wt_index__install(table->core);
	wt_signals__install(table->core);
	wt_properties__install(table->amd_ext);
	wt_copies__install(table->amd_ext);
	wt_places__install(table->core, table->amd_ext);
	wt_symbols__install(table->core);
	wt_follow__install(table->amd_ext);
	atomic_store_explicit(&wt_hsa.active, true, memory_order_release);
	wt_sources__arm_exit();
	snprintf(text, sizeof(text),
		"HSA runtime %u, tables core %u.%u (%u bytes) and AMD %u.%u (%u bytes)%s",
		(unsigned)runtime_version, table->core->version.major, table->core->version.step,
		table->core->version.minor, table->amd_ext->version.major,
		table->amd_ext->version.step, table->amd_ext->version.minor,
		wt_hsa.foreign ? ", another tool was there first" : "");
	wt_define__status("hsa", 0, text);
	wt_sources__report();
	return true;
}

/* The runtime is going down: after this no function of it may be called. */
void OnUnload(void)
{
	if (!atomic_exchange_explicit(&wt_hsa.active, false, memory_order_acq_rel) ||
		!wt_hsa__here())
		return;
	wt_selftest__settle();
	wt_keeper__stop();
	if (wt_hsa__recording()) {
		wt_pending__scan();
		wt_vq__look_for_bypass();
		wt_devices__sample_all(0);
	}
	/* its queues and signals end with it, and their addresses come again with the next one */
	wt_pending__forget(NULL);
	wt_vq__leave_all();
	wt_symbols__leave_all();
	atomic_store_explicit(&wt_hsa.device_cnt, 0, memory_order_relaxed);
	atomic_store_explicit(&wt_process.live->hsa_here, 0, memory_order_release);
	wt_hsa.generation = 0;
}

/*
 * rocprofiler-register hands the tables over before the runtime looks for its
 * own kind of tools; OnLoad then finds them taken, and where a profiler has
 * taken them it does not come. Neither does OnUnload: so the last hsa_shut_down
 * says that the runtime goes.
 */
static _Atomic uint32_t user_cnt;

static hsa_status init(void)
{
	hsa_status status = ((hsa_status(*)(void))wt_hsa.core_fn[HSA_CORE_INIT])();

	if (!status)
		atomic_fetch_add_explicit(&user_cnt, 1, memory_order_relaxed);
	return status;
}

static hsa_status shut_down(void)
{
	hsa_status (*real)(void) = (hsa_status(*)(void))wt_hsa.core_fn[HSA_CORE_SHUT_DOWN];
	uint32_t cnt = atomic_load_explicit(&user_cnt, memory_order_relaxed);

	while (cnt && !atomic_compare_exchange_weak_explicit(&user_cnt, &cnt, cnt - 1,
			       memory_order_relaxed, memory_order_relaxed))
		;
	if (cnt == 1)
		OnUnload();
	return real();
}

static bool take_tables(const char *name, void **tables, uint64_t table_cnt)
{
	struct hsa_api_table *table = table_cnt && tables ? tables[0] : NULL;

	if (strcmp(name, "hsa") || !table ||
		atomic_load_explicit(&wt_hsa.active, memory_order_acquire))
		return false;
	OnLoad(table, table->version.major, 0, NULL);
	if (!atomic_load_explicit(&wt_hsa.active, memory_order_acquire))
		return false;
	/* whoever called hsa_init first has brought us here */
	atomic_store_explicit(&user_cnt, 1, memory_order_relaxed);
	table->core->fn[HSA_CORE_INIT] = (void *)init;
	table->core->fn[HSA_CORE_SHUT_DOWN] = (void *)shut_down;
	return true;
}

static enum wt_probe probe(char *why, size_t why_bytes)
{
	bool active = atomic_load_explicit(&wt_hsa.active, memory_order_acquire);

	snprintf(why, why_bytes, "%s",
		active ? "the HSA runtime's tables are wrapped" : "no HSA runtime has called OnLoad");
	return active ? WT_PROBE_USABLE : WT_PROBE_ABSENT;
}

static void flush(void)
{
	if (!atomic_load_explicit(&wt_hsa.active, memory_order_acquire) || !wt_hsa__here())
		return;
	wt_keeper__stop();
	if (wt_hsa__recording()) {
		wt_pending__scan();
		wt_vq__look_for_bypass();
		wt_devices__sample_all(0);
	}
}

/* The wrappers stay and pass through; nothing of the runtime is called on our own any more. */
static void stop(void)
{
	wt_keeper__bar();
}

const struct wt_source wt_source_hsa = {
	.name = "hsa",
	.description = "kernels and copies, at the HSA runtime's tables",
	.probe = probe,
	.flush = flush,
	.stop = stop,
	.take_tables = take_tables,
};
