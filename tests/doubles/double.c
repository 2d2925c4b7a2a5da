// SPDX-License-Identifier: MIT
#include "double.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *double_core[CORE_COUNT], *double_amd[AMD_COUNT];
uint32_t double_amd_bytes;

enum { MAX_SYMBOLS = 65536, MAX_OPS = 1 << 20 };

struct symbol {
	uint64_t object;
	char *name;
};

struct op {
	hsa_signal_t signal, original;
	hsa_agent_t agent;
	uint32_t queue;
	uint64_t sequence, start, end;
	const char *name;
	bool ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct symbol *symbols;
static uint32_t symbol_cnt, queue_cnt, pool_cnt;
static struct op *ops;
static uint32_t op_cnt;
static hsa_signal_t *pool;
static _Atomic uint64_t pending;

static hsa_status_t on_symbol(hsa_executable_t executable, hsa_agent_t agent,
	hsa_executable_symbol_t symbol, void *data)
{
	hsa_symbol_kind_t kind;
	uint32_t length = 0;
	uint64_t object = 0;
	char *name;

	(void)executable;
	(void)agent;
	(void)data;
	CORE(hsa_executable_symbol_get_info)(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
	if (kind != HSA_SYMBOL_KIND_KERNEL)
		return HSA_STATUS_SUCCESS;
	CORE(hsa_executable_symbol_get_info)(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH,
		&length);
	name = calloc(1, length + 1);
	CORE(hsa_executable_symbol_get_info)(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name);
	CORE(hsa_executable_symbol_get_info)(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
		&object);
	pthread_mutex_lock(&lock);
	if (symbol_cnt < MAX_SYMBOLS)
		symbols[symbol_cnt++] = (struct symbol){object, name};
	pthread_mutex_unlock(&lock);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_agent(hsa_agent_t agent, void *data)
{
	CORE(hsa_executable_iterate_agent_symbols)(*(hsa_executable_t *)data, agent, on_symbol,
		NULL);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t freeze(hsa_executable_t executable, const char *options)
{
	hsa_status_t status = CORE(hsa_executable_freeze)(executable, options);

	if (status == HSA_STATUS_SUCCESS)
		CORE(hsa_iterate_agents)(on_agent, &executable);
	return status;
}

void double__load(struct hsa_api_root *root)
{
	memcpy(double_core, root->core->function, sizeof(double_core));
	memcpy(double_amd, root->amd_ext->function, sizeof(double_amd));
	double_amd_bytes = root->amd_ext->minor;
	symbols = calloc(MAX_SYMBOLS, sizeof(*symbols));
	ops = calloc(MAX_OPS, sizeof(*ops)); /* untouched pages cost nothing */
	pool = calloc(MAX_OPS, sizeof(*pool));
	root->core->function[CORE_hsa_executable_freeze] = (void *)freeze;
}

struct double_queue *double_queue__new(hsa_agent_t agent)
{
	struct double_queue *queue = calloc(1, sizeof(*queue));

	queue->agent = agent;
	pthread_mutex_lock(&lock);
	queue->ordinal = queue_cnt++;
	pthread_mutex_unlock(&lock);
	return queue;
}

static const char *name_of(uint64_t object) /* under the lock; the youngest wins */
{
	for (uint32_t i = symbol_cnt; i-- > 0;)
		if (symbols[i].object == object)
			return symbols[i].name;
	return "?";
}

static bool on_end(hsa_signal_value_t value, void *data)
{
	struct op *op = data;
	hsa_amd_profiling_dispatch_time_t time = {0};

	(void)value;
	AMD(hsa_amd_profiling_get_dispatch_time)(op->agent, op->signal, &time);
	op->start = time.start;
	op->end = time.end;
	if (op->original.handle)
		CORE(hsa_signal_subtract_screlease)(op->original, 1);
	pthread_mutex_lock(&lock);
	op->ended = true;
	pool[pool_cnt++] = op->signal;
	pthread_mutex_unlock(&lock);
	pending--;
	return false;
}

hsa_signal_t double__inject(struct double_queue *queue, uint64_t kernel_object,
	hsa_signal_t original)
{
	hsa_signal_t signal = {0};
	struct op *op;

	pthread_mutex_lock(&lock);
	if (op_cnt == MAX_OPS) {
		pthread_mutex_unlock(&lock);
		return original;
	}
	op = &ops[op_cnt++];
	if (pool_cnt)
		signal = pool[--pool_cnt];
	*op = (struct op){
		.original = original,
		.agent = queue->agent,
		.queue = queue->ordinal,
		.sequence = queue->next++,
		.name = name_of(kernel_object),
	};
	pthread_mutex_unlock(&lock);
	if (signal.handle)
		CORE(hsa_signal_store_relaxed)(signal, 1);
	else
		CORE(hsa_signal_create)(1, 0, NULL, &signal);
	op->signal = signal;
	pending++;
	AMD(hsa_amd_signal_async_handler)(signal, HSA_SIGNAL_CONDITION_LT, 1, on_end, op);
	return signal;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("DOUBLE_REPORT");
	FILE *out;

	if (!path || !ops)
		return;
	for (int i = 0; pending && i < 2000; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	out = fopen(path, "w");
	if (!out)
		return;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < op_cnt; i++)
		fprintf(out, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", ops[i].queue,
			ops[i].sequence, ops[i].ended ? ops[i].start : 0,
			ops[i].ended ? ops[i].end : 0, ops[i].name);
	pthread_mutex_unlock(&lock);
	fclose(out);
}
