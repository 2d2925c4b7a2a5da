// SPDX-License-Identifier: MIT
#include "capture/source.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "capture/capture.h"

const struct wt_source *const wt_sources[] = {&wt_source_hsa, &wt_source_hip, NULL};

void wt_sources__report(void)
{
	static const uint32_t levels[] = {
		[WT_PROBE_ABSENT] = 0, [WT_PROBE_USABLE] = 0, [WT_PROBE_BROKEN] = 2};
	char why[160];

	for (size_t i = 0; wt_sources[i]; i++) {
		enum wt_probe probe = wt_sources[i]->probe(why, sizeof(why));

		wt_define__status(wt_sources[i]->name, levels[probe], why);
		if (wt_sources[i]->report)
			wt_sources[i]->report();
	}
}

/* For libwavetap_register.so alone. */
wt_export bool wavetap_take_tables(const char *name, void **tables, uint64_t table_cnt);

bool wavetap_take_tables(const char *name, void **tables, uint64_t table_cnt)
{
	for (size_t i = 0; wt_sources[i]; i++)
		if (wt_sources[i]->take_tables &&
			wt_sources[i]->take_tables(name, tables, table_cnt))
			return true;
	return false;
}

/*
 * Exit handlers run in reverse order of registration: registered while a
 * runtime is already up, ours runs before its destructors.
 */
static void at_exit(void)
{
	for (size_t i = 0; wt_sources[i]; i++) {
		wt_sources[i]->flush();
		wt_sources[i]->stop();
	}
}

void wt_sources__arm_exit(void)
{
	static atomic_flag armed = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set_explicit(&armed, memory_order_relaxed))
		atexit(at_exit);
}
