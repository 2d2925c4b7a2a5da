// SPDX-License-Identifier: MIT
/*
 * A source of events: one row in the ordered table of sources.c.
 *
 * The runtimes call a source through whatever it hooked; this table is how the
 * rest of the library knows it. All functions may be called on any thread of
 * the traced process, never from a signal handler.
 */
#ifndef WT_CAPTURE_SOURCE_H
#define WT_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wt_probe { WT_PROBE_ABSENT, WT_PROBE_USABLE, WT_PROBE_BROKEN };

struct wt_source {
	const char *name;
	const char *description;
	/* No side effects. `why` gets a sentence, also when usable. */
	enum wt_probe (*probe)(char *why, size_t why_bytes);
	/* What else there is to say, once the source is in use; may be NULL. Not for the record path. */
	void (*report)(void);
	/* Last chance to hand over what only this process can read; at exit, on its thread. */
	void (*flush)(void);
	/* From now on the source only passes calls through. */
	void (*stop)(void);
	/*
	 * The function of that name that we have instead of the vendor's, and the
	 * one it calls; NULL: there is none. No side effects, before joining, too.
	 * Both are NULL in a source that wraps no functions of a library.
	 */
	void *(*wrapper)(const char *name);
	void *(*original)(const char *name);
	/*
	 * Tables of functions that a library gives to tools through
	 * rocprofiler-register: replaces entries in place. False: not ours, or had
	 * already. May be NULL.
	 */
	bool (*take_tables)(const char *name, void **tables, uint64_t table_cnt);
};

extern const struct wt_source wt_source_hsa, wt_source_hip;

/* All of them, in the order in which they are tried; ends with NULL. */
extern const struct wt_source *const wt_sources[];

/* Puts each source's word on itself into the trace. Not for the record path. */
void wt_sources__report(void);

/* Arranges that flush and stop run before the runtimes' own exit handlers. Once a process. */
void wt_sources__arm_exit(void);

#endif
