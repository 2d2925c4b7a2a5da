// SPDX-License-Identifier: MIT
/* A session with the library loaded into the fake HSA runtime as its tool, for a test group. */
#ifndef HSA_SESSION_H
#define HSA_SESSION_H

#include "capture/sources/hsa/hsa.h"
#include "fake_hsa.h"
#include "fake_session.h"

bool OnLoad(struct hsa_api_table *table, uint64_t version, uint64_t cnt, const char *const *names);
void OnUnload(void);

static struct hsa_api_table *table;       /* as the application sees it */
static struct wt_process_shared *process; /* what the library tells of this process */

static int set_up(void **state)
{
	size_t bytes;

	(void)state;
	fake_session__start();
	table = fake_hsa__table();
	if (!OnLoad(table, 1, 0, NULL))
		return -1;
	process = fake_session__map(WT_FILE_PROCESS, 0, 0, &bytes);
	return process ? 0 : -1;
}

static int tear_down(void **state)
{
	OnUnload();
	return fake_session__tear_down(state);
}

#endif
