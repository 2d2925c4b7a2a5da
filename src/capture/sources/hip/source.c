// SPDX-License-Identifier: MIT
/* What the HIP source says of itself. */
#include "capture/sources/hip/hip.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "capture/dl.h"
#include "capture/elf.h"
#include "capture/source.h"

static enum wt_probe probe(char *why, size_t why_bytes)
{
	bool there = wt_hip__original_named("hipGetDeviceCount") != NULL;
	Dl_info self, first;
	wt_dlsym_fn *sym = wt_dl__sym();
	void *found = sym ? sym(RTLD_DEFAULT, "hipLaunchKernel") : NULL;
	bool preloaded = found && dladdr(found, &first) && dladdr((void *)probe, &self) &&
			 first.dli_fbase == self.dli_fbase;

	if (there && preloaded)
		snprintf(why, why_bytes, "calls of libamdhip64 are interposed, %s",
			wt_dl__look_ups_off() ? "but not functions that are looked up"
					      : "functions that are looked up, too");
	else
		snprintf(why, why_bytes, "%s",
			there ? "HIP calls are not recorded: libwavetap.so is not preloaded"
			      : "libamdhip64 is not loaded: no HIP calls to record");
	return !there ? WT_PROBE_ABSENT : preloaded ? WT_PROBE_USABLE : WT_PROBE_BROKEN;
}

/* ---- functions of a runtime that is newer than our table ------------------------- */

#define LINE_BYTES 400

static bool is_unknown(const char *symbol)
{
	const char *name = wt_hip__plain_name(symbol);

	return (!strncmp(name, "hip", 3) || !strncmp(name, "__hip", 5)) &&
	       wt_hip_api__find(name) == WT_HIP_CNT;
}

static void report(void)
{
	static const char beginning[] = "not recorded, as their parameters are not known:";
	static uint32_t told; /* the runtime may come again: not its functions' names */
	char line[LINE_BYTES];
	size_t used = 0;
	struct wt_elf library;

	if (told == wt_process.generation || !wt_elf__named("libamdhip64", &library))
		return;
	told = wt_process.generation;
	if (wt_hip__say_tables(line, sizeof(line)))
		wt_define__status("hip", 0, line);
	/* one line, or several where there are many */
	for (uint32_t i = 0; i < library.symbol_cnt; i++) {
		void *address;
		const char *name = wt_elf__function(&library, i, &address);

		if (!name || !is_unknown(name))
			continue;
		if (used && used + strlen(name) + 3 > sizeof(line)) {
			wt_define__status("hip", 0, line);
			used = 0;
		}
		if (!used)
			used = (size_t)snprintf(line, sizeof(line), "%s", beginning);
		else
			used += (size_t)snprintf(line + used, sizeof(line) - used, ",");
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", name);
		if (used >= sizeof(line))
			used = sizeof(line) - 1; /* a name of hundreds of letters */
	}
	if (used)
		wt_define__status("hip", 0, line);
}

/* Rings are read by the collector: nothing is left to do here. */
static void nothing(void)
{
}

const struct wt_source wt_source_hip = {
	.name = "hip",
	.description = "HIP API calls, by symbol interposition",
	.probe = probe,
	.report = report,
	.flush = nothing,
	.stop = nothing,
	.wrapper = wt_hip__wrapper_named,
	.original = wt_hip__original_named,
	.take_tables = wt_hip__take_tables,
};
