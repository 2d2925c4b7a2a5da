// SPDX-License-Identifier: MIT
/* What is said about a trace before anything else: what was captured, what was lost. */
#ifndef WT_CLI_FACTS_H
#define WT_CLI_FACTS_H

#include <stdio.h>

#include "base/json.h"
#include "base/vec.h"
#include "store/reader.h"

struct wt_fact {
	char *name, *level, *text;
	uint64_t count;
};

struct wt_fact_list { /* as WT_VEC */
	struct wt_fact *data;
	size_t cnt, capacity;
};

struct wt_facts {
	uint64_t process_cnt, thread_cnt, device_cnt, queue_cnt, stream_cnt, symbol_cnt, run_cnt;
	uint64_t api_cnt, unreturned_cnt;
	uint64_t op_cnt, kernel_cnt, copy_cnt, fill_cnt, graph_op_cnt;
	uint64_t untimed_cnt,
		in_flight_cnt;       /* of op_cnt: without times, and of these not finished */
	uint64_t allocation_cnt, lost_allocation_cnt; /* the latter: freed, but not seen made */
	int64_t first_ns, last_ns;   /* first start and last end of any event, file's time */
	int64_t origin_ns;           /* file's time 0 in CLOCK_BOOTTIME */
	int64_t origin_realtime_ns;  /* the same by the wall clock; 0: not known */
	int64_t lost_known;          /* false: other tools' files do not tell what they lost */
	struct wt_fact_list lost;    /* name: cause, count; not in the trace */
	struct wt_fact_list untimed; /* name: cause, count; in the trace, without times */
	struct wt_fact_list unknown; /* name: cause, count; in the trace, without stream or call */
	struct wt_fact_list unrecorded; /* name: function, level: domain, count; made, but not asked for */
	struct wt_fact_list peaks;   /* name: GPU or host, count: most bytes at once */
	struct wt_fact_list status;  /* name: source, level, text */
};

int wt_facts__read(struct wt_facts *facts, struct wt_trace *trace, struct wt_err **err);
void wt_facts__free(struct wt_facts *facts);

/* The lines above a table: span, captured, lost. */
void wt_facts__print(const struct wt_facts *facts, const struct wt_trace *trace, FILE *file);
/* Why a trace has no events; to be printed where the table would be. */
void wt_facts__print_empty(const struct wt_facts *facts, FILE *file);
/* "captured": {…}, "lost": […], "untimed": […], "unknown": […] as members of the current object. */
void wt_facts__json(const struct wt_facts *facts, struct wt_json *json);

/* Events that are not in the trace. */
uint64_t wt_facts__lost_cnt(const struct wt_facts *facts);

#endif
