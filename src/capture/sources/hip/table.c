// SPDX-License-Identifier: MIT
/*
 * The tables through which HIP calls itself since ROCm 6.2, as it gives them to
 * rocprofiler-register: a size in bytes, then functions in a fixed order. A call
 * that has come through an exported wrapper is nested here, and is passed on.
 */
#include "capture/sources/hip/hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISPATCH(name) WT_HIP_##name,
#define COMPILER(name)
static const uint16_t dispatch_order[] = {
#include "capture/sources/hip/dispatch_table.def"
};
#undef DISPATCH
#undef COMPILER
#define DISPATCH(name)
#define COMPILER(name) WT_HIP_##name,
static const uint16_t compiler_order[] = {
#include "capture/sources/hip/dispatch_table.def"
};

struct given {
	size_t size;
	void *fn[];
};

static struct kind {
	const char *name;
	const uint16_t *order;
	size_t order_cnt;
	_Atomic(struct given *) table; /* ours */
	uint32_t fn_cnt, wrapped_cnt;
} kinds[] = {
	{"hip", dispatch_order, sizeof(dispatch_order) / sizeof(*dispatch_order)},
	{"hip_compiler", compiler_order, sizeof(compiler_order) / sizeof(*compiler_order)},
};

static _Atomic(void *) originals[WT_HIP_CNT];

void *wt_hip__table_original(enum wt_hip_api id)
{
	return atomic_load_explicit(&originals[id], memory_order_relaxed);
}

static void replace(struct kind *kind, struct given *table)
{
	size_t cnt =
		table->size < sizeof(*table) ? 0 : (table->size - sizeof(*table)) / sizeof(void *);

	kind->fn_cnt = (uint32_t)cnt;
	for (size_t i = 0; i < cnt && i < kind->order_cnt; i++) {
		enum wt_hip_api id = kind->order[i];

		if (!table->fn[i])
			continue;
		atomic_store_explicit(&originals[id], table->fn[i], memory_order_relaxed);
		/* release: who calls the wrapper finds the original */
		__atomic_store_n(&table->fn[i], wt_hip__table_wrapper(id), __ATOMIC_RELEASE);
		kind->wrapped_cnt++;
	}
}

/* Nothing to record for: the table stays what it is. */
static bool is_traced(void)
{
	const char *session = getenv("WAVETAP_SESSION"), *output = getenv("WAVETAP_OUTPUT");

	return (session && *session) || (output && *output);
}

bool wt_hip__take_tables(const char *name, void **tables, uint64_t table_cnt)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct given *none = NULL;

		if (strcmp(kinds[i].name, name))
			continue;
		/*
		 * Given again, its entries are ours already, or those of a tool
		 * that calls ours; and there is one wrapper for one original, so a
		 * second runtime's table is left alone.
		 */
		if (!table_cnt || !tables || !tables[0] || !is_traced() ||
			!atomic_compare_exchange_strong(&kinds[i].table, &none, tables[0]))
			return false;
		replace(&kinds[i], tables[0]);
		return true;
	}
	return false;
}

bool wt_hip__say_tables(char *text, size_t text_bytes)
{
	uint32_t fn_cnt = 0, wrapped_cnt = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		fn_cnt += kinds[i].fn_cnt;
		wrapped_cnt += kinds[i].wrapped_cnt;
	}
	if (fn_cnt)
		snprintf(text, text_bytes,
			"rocprofiler-register gave us HIP's table: %u of its %u functions are "
			"wrapped",
			wrapped_cnt, fn_cnt);
	return fn_cnt != 0;
}
