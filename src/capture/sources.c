// SPDX-License-Identifier: MIT
#include "capture/source.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "capture/capture.h"

const struct wt_source *const wt_sources[] = {&wt_source_hsa, &wt_source_hip, NULL};

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
