// SPDX-License-Identifier: MIT
/* Reads the definition ring of process 0 of the fake session. */
#ifndef DEFINITIONS_H
#define DEFINITIONS_H

#include <stdbool.h>
#include <stdlib.h>

#include "core/record.h"
#include "core/ring.h"
#include "fake_session.h"

static struct wt_ring_reader definitions;

static inline int open_definitions(void)
{
	size_t bytes;
	uint8_t *file = fake_session__map(WT_FILE_PROCESS, 0, 0, &bytes);

	return file ? wt_ring_reader__open(&definitions, file + WT_PROCESS_RING_OFFSET,
			      bytes - WT_PROCESS_RING_OFFSET)
		    : -1;
}

/* Each record since the last time. */
static inline void each_definition(void (*look)(const struct wt_rec *rec))
{
	struct wt_ring_run runs[2];
	uint64_t end;

	wt_ring_reader__peek(&definitions, runs, &end);
	for (int i = 0; i < 2; i++)
		for (uint32_t at = 0; at < runs[i].length;) {
			const struct wt_rec *rec = (const struct wt_rec *)(runs[i].bytes + at);

			look(rec);
			at += rec->size8 * 8u;
		}
	wt_ring_reader__release(&definitions, end);
}

#endif
