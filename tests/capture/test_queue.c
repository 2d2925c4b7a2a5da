// SPDX-License-Identifier: MIT
/*
 * The HSA source on a runtime and a GPU made for the purpose: what the
 * application sees, what the hardware sees, what the collector finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/capture.h"
#include "core/slot.h"
#include "hsa_session.h"

/* ---- a collector of one queue ----------------------------------------------------- */

struct collector {
	struct wt_slots_shared *shared;
	struct wt_slot *slots;
	struct wt_signal *signals;
	size_t bytes;
	uint64_t tail;
	uint64_t ops, timed, untimed[WT_LOST_CNT], no_producer, unordered;
	uint64_t last_object[8];
	_Atomic bool stop;
	pthread_t thread;
};

static void open_table(struct collector *c, uint32_t number)
{
	memset(c, 0, sizeof(*c));
	c->shared = fake_session__map(WT_FILE_SLOTS, process->number, number, &c->bytes);
	assert_non_null(c->shared);
	c->slots = (struct wt_slot *)((char *)c->shared + c->shared->slots_offset);
	c->signals = (struct wt_signal *)((char *)c->shared + c->shared->signals_offset);
	c->tail = 0;
}

/* One operation; kernel_object is producer << 32 | running number, so order can be checked. */
static void account(struct collector *c, const struct wt_slot *slot, union wt_slot_word word,
	const struct wt_signal *signal)
{
	uint64_t producer = slot->kernel_object >> 32 & 7;

	c->ops++;
	c->no_producer += !!(word.flags & WT_SLOT_NO_PRODUCER);
	if (slot->kernel_object <= c->last_object[producer])
		c->unordered++;
	c->last_object[producer] = slot->kernel_object;
	if (word.flags & WT_SLOT_TIMED && atomic_load(&signal->end_ticks))
		c->timed++;
	else
		c->untimed[word.flags & WT_SLOT_TIMED ? signal->reserved3[0] : word.untimed]++;
}

/* True when it got on. */
static bool collect(struct collector *c)
{
	uint64_t end = atomic_load_explicit(&c->shared->submitted, memory_order_acquire);
	uint64_t first = c->tail;

	for (; c->tail < end; c->tail++) {
		uint32_t at = (uint32_t)(c->tail & (c->shared->capacity - 1));
		struct wt_slot *slot = &c->slots[at];
		union wt_slot_word word = {
			.raw = atomic_load_explicit(&slot->word, memory_order_acquire),
		};

		if (word.state != WT_SLOT_SUBMITTED ||
			word.lap != (uint32_t)(c->tail / c->shared->capacity))
			continue;
		if (word.flags & WT_SLOT_TIMED &&
			atomic_load_explicit(&c->signals[at].value, memory_order_acquire) > 0)
			break;
		account(c, slot, word, &c->signals[at]);
		atomic_store_explicit(&slot->word, 0, memory_order_release);
	}
	return c->tail != first;
}

static void *collect_all(void *arg)
{
	struct collector *c = arg;

	while (!atomic_load(&c->stop))
		if (!collect(c))
			sched_yield();
	return NULL;
}

/* ---- an application ------------------------------------------------------------------ */

static struct hsa_queue *make_queue(uint32_t size)
{
	struct hsa_queue *queue = NULL;

	assert_int_equal(FAKE_CORE(table, hsa_queue_create, hsa_queue_create_fn)(fake_gpu, size, 0,
				 NULL, NULL, 0, 0, &queue),
		HSA_OK);
	return queue;
}

static void end_queue(struct hsa_queue *queue)
{
	FAKE_CORE(table, hsa_queue_destroy, hsa_queue_destroy_fn)(queue);
}

static void wait_for_room(struct hsa_queue *queue, uint64_t index)
{
	while (index - FAKE_CORE(table, hsa_queue_load_read_index_scacquire,
			       hsa_queue_load_index_fn)(queue) >= queue->size)
		sched_yield();
}

static void write_packet(struct hsa_queue *queue, uint64_t index, uint8_t type, uint64_t object,
	uint64_t signal)
{
	struct hsa_dispatch_packet *packet =
		(struct hsa_dispatch_packet *)queue->base_address + index % queue->size;

	packet->kernel_object = object;
	packet->completion_signal.handle = signal;
	packet->grid[0] = 64;
	packet->workgroup[0] = 64;
	packet->private_segment_size = 16;
	__atomic_store_n(&packet->header, (uint16_t)(type | 1u << HSA_HEADER_BARRIER_BIT),
		__ATOMIC_RELEASE);
}

static void ring_bell(struct hsa_queue *queue, uint64_t index)
{
	FAKE_CORE(table, hsa_signal_store_screlease, hsa_signal_store_fn)
	(queue->doorbell_signal, (int64_t)index);
}

static uint64_t reserve(struct hsa_queue *queue, uint64_t cnt)
{
	return FAKE_CORE(table, hsa_queue_add_write_index_screlease, hsa_queue_add_index_fn)(queue,
		cnt);
}

static uint64_t dispatch(struct hsa_queue *queue, uint64_t object, uint64_t signal)
{
	uint64_t index = reserve(queue, 1);

	wait_for_room(queue, index);
	write_packet(queue, index, HSA_PACKET_DISPATCH, object, signal);
	ring_bell(queue, index);
	return index;
}

static void wait_executed(struct hsa_queue *queue, uint64_t cnt)
{
	while (FAKE_CORE(table, hsa_queue_load_read_index_scacquire, hsa_queue_load_index_fn)(
		       queue) < cnt)
		sched_yield();
}

static void reset_stats(void)
{
	memset(&fake_stats, 0, sizeof(fake_stats));
}

/* ---- tests ----------------------------------------------------------------------------- */

struct producer {
	struct hsa_queue *queue;
	uint64_t number, cnt;
};

/* Every third packet a barrier, every fifth reservation a batch of three. */
static void *produce(void *arg)
{
	const struct producer *p = arg;

	for (uint64_t i = 1; i <= p->cnt;) {
		uint64_t n = i % 5 == 0 && i + 2 <= p->cnt ? 3 : 1;
		uint64_t index = reserve(p->queue, n + (i % 3 == 0));

		wait_for_room(p->queue, index + n);
		for (uint64_t k = 0; k < n; k++)
			write_packet(p->queue, index + k, HSA_PACKET_DISPATCH,
				p->number << 32 | (i + k), 0);
		if (i % 3 == 0)
			write_packet(p->queue, index + n, HSA_PACKET_BARRIER_AND, 0, 0);
		ring_bell(p->queue, index + n - 1 + (i % 3 == 0));
		i += n;
	}
	return NULL;
}

#define PRODUCERS 4
#define EACH	  5000u

static void test_many_producers_one_queue(void **state)
{
	struct hsa_queue *queue = make_queue(256);
	struct producer producers[PRODUCERS];
	pthread_t threads[PRODUCERS];
	struct collector c;

	(void)state;
	reset_stats();
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	pthread_create(&c.thread, NULL, collect_all, &c);
	for (uint64_t i = 0; i < PRODUCERS; i++) {
		producers[i] = (struct producer){queue, i, EACH};
		pthread_create(&threads[i], NULL, produce, &producers[i]);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	while (atomic_load(&fake_stats.dispatches) < PRODUCERS * EACH)
		sched_yield();
	atomic_store(&c.stop, true);
	pthread_join(c.thread, NULL);
	while (collect(&c))
		;
	assert_int_equal(fake_stats.dispatches, PRODUCERS * EACH);
	assert_int_equal(fake_stats.unsigned_dispatches, 0); /* none seen unpatched */
	assert_int_equal(fake_stats.invalid, 0);
	assert_int_equal(c.ops, PRODUCERS * EACH);
	assert_int_equal(c.timed, PRODUCERS * EACH);
	assert_int_equal(c.unordered, 0);
	end_queue(queue);
	assert_int_equal(atomic_load(&c.shared->retired), 1);
	munmap(c.shared, c.bytes);
}

static void test_own_signal_keeps_its_times(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	hsa_signal own;
	struct collector c;

	(void)state;
	reset_stats();
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	FAKE_CORE(table, hsa_signal_create, hsa_signal_create_fn)(1, 0, NULL, &own);
	for (uint64_t i = 1; i <= 100; i++) {
		((struct wt_signal *)own.handle)->value = 1;
		dispatch(queue, i, own.handle);
		wait_executed(queue, i);
	}
	FAKE_CORE(table, hsa_signal_destroy, hsa_signal_destroy_fn)(own);
	while (c.ops < 100)
		collect(&c);
	assert_int_equal(c.timed, 100);
	assert_int_equal(c.unordered, 0);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

static void test_shared_signal_gives_no_times(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	hsa_signal own;
	struct collector c;

	(void)state;
	reset_stats();
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	FAKE_CORE(table, hsa_signal_create, hsa_signal_create_fn)(2, 0, NULL, &own);
	fake_hsa__hold(true);
	dispatch(queue, 1, own.handle);
	dispatch(queue, 2, own.handle);
	fake_hsa__hold(false);
	wait_executed(queue, 2);
	FAKE_CORE(table, hsa_signal_destroy, hsa_signal_destroy_fn)(own);
	while (c.ops < 2)
		collect(&c);
	assert_int_equal(c.timed, 0);
	assert_int_equal(c.untimed[WT_LOST_TIME_SHARED_SIGNAL], 2);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

static void test_second_use_before_the_first_ended(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	hsa_signal own;
	struct collector c;

	(void)state;
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	FAKE_CORE(table, hsa_signal_create, hsa_signal_create_fn)(1, 0, NULL, &own);
	fake_hsa__hold(true);
	dispatch(queue, 1, own.handle);
	dispatch(queue, 2, own.handle);
	fake_hsa__hold(false);
	wait_executed(queue, 2);
	while (c.ops < 2)
		collect(&c);
	assert_int_equal(c.timed, 0);
	assert_int_equal(c.untimed[WT_LOST_TIME_SHARED_SIGNAL], 2);
	FAKE_CORE(table, hsa_signal_destroy, hsa_signal_destroy_fn)(own);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

/*
 * Two in flight, and a third: the stamps of any of them would be taken for the
 * third's. Once all are over, and one that waited for them tells, the signal
 * gives times again.
 */
static void test_third_use_of_a_shared_signal(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	hsa_signal own;
	struct collector c;

	(void)state;
	reset_stats();
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	FAKE_CORE(table, hsa_signal_create, hsa_signal_create_fn)(1, 0, NULL, &own);
	fake_hsa__hold(true);
	for (uint64_t i = 1; i <= 3; i++) {
		FAKE_CORE(table, hsa_signal_silent_store_relaxed, hsa_signal_store_fn)(own, 1);
		dispatch(queue, i, own.handle);
	}
	dispatch(queue, 4, 0);
	fake_hsa__hold(false);
	wait_executed(queue, 4);
	FAKE_CORE(table, hsa_signal_silent_store_relaxed, hsa_signal_store_fn)(own, 1);
	dispatch(queue, 5, own.handle);
	wait_executed(queue, 5);
	FAKE_CORE(table, hsa_signal_destroy, hsa_signal_destroy_fn)(own);
	while (c.ops < 5)
		collect(&c);
	assert_int_equal(c.timed, 2);
	assert_int_equal(c.untimed[WT_LOST_TIME_SHARED_SIGNAL], 3);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

static void barrier(struct hsa_queue *queue, uint64_t signal)
{
	uint64_t index = reserve(queue, 1);

	write_packet(queue, index, HSA_PACKET_BARRIER_AND, 0, signal);
	ring_bell(queue, index);
}

/* A barrier stamps its signal, too. */
static void test_barrier_with_the_same_signal(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	hsa_signal own, other;
	struct collector c;

	(void)state;
	reset_stats();
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	FAKE_CORE(table, hsa_signal_create, hsa_signal_create_fn)(1, 0, NULL, &own);
	FAKE_CORE(table, hsa_signal_create, hsa_signal_create_fn)(1, 0, NULL, &other);
	fake_hsa__hold(true);
	barrier(queue, own.handle);
	FAKE_CORE(table, hsa_signal_silent_store_relaxed, hsa_signal_store_fn)(own, 1);
	dispatch(queue, 1, own.handle); /* the barrier's stamps may be in its signal */
	barrier(queue, other.handle);
	fake_hsa__hold(false);
	wait_executed(queue, 3);
	/* the barrier is over, its signal says so when it is armed again */
	FAKE_CORE(table, hsa_signal_silent_store_relaxed, hsa_signal_store_fn)(other, 1);
	dispatch(queue, 2, other.handle);
	wait_executed(queue, 4);
	barrier(queue, other.handle);
	wait_executed(queue, 5);
	while (c.ops < 2)
		collect(&c);
	assert_int_equal(c.untimed[WT_LOST_TIME_SHARED_SIGNAL], 1);
	assert_int_equal(c.timed, 1);
	FAKE_CORE(table, hsa_signal_destroy, hsa_signal_destroy_fn)(own);
	FAKE_CORE(table, hsa_signal_destroy, hsa_signal_destroy_fn)(other);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

/* Packets that reach the hardware without us: noticed, counted, and the others go on. */
static void test_doorbell_past_us(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	uint64_t before = atomic_load(&process->lost[WT_LOST_OP_BYPASSED]);
	struct collector c;
	uint64_t index;

	(void)state;
	reset_stats();
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	dispatch(queue, 1, 0);
	wait_executed(queue, 1);
	for (int i = 0; i < 3; i++) {
		index = reserve(queue, 1);
		write_packet(queue, index, HSA_PACKET_DISPATCH, 9, 0);
		CORE(hsa_queue_store_write_index_screlease, hsa_queue_store_index_fn)
		(queue, index + 1);
		CORE(hsa_signal_store_screlease, hsa_signal_store_fn)
		(queue->doorbell_signal, (int64_t)index);
	}
	wait_executed(queue, 4);
	wt_vq__look_for_bypass();
	assert_int_equal(atomic_load(&process->lost[WT_LOST_OP_BYPASSED]), before + 3);
	for (uint64_t i = 2; i <= 20; i++)
		dispatch(queue, i, 0);
	wait_executed(queue, 23);
	while (c.ops < 20)
		collect(&c);
	assert_int_equal(c.timed, 20);
	assert_int_equal(atomic_load(&process->lost[WT_LOST_OP_BYPASSED]), before + 3);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

/* The doorbell may come before the packet is valid: the keeper rings again. */
static void test_doorbell_before_packet(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	uint64_t index = reserve(queue, 1);

	(void)state;
	reset_stats();
	ring_bell(queue, index);
	usleep(5000);
	assert_int_equal(fake_stats.executed, 0);
	write_packet(queue, index, HSA_PACKET_DISPATCH, 1, 0);
	wait_executed(queue, 1);
	assert_int_equal(fake_stats.unsigned_dispatches, 0);
	end_queue(queue);
}

/* No collector: slots run out, each such operation is counted, the program goes on. */
static void test_slots_run_out(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	struct collector c;
	uint64_t before = atomic_load(&process->lost[WT_LOST_OP_SLOT_BUSY]);
	uint64_t more = 1000, all;

	(void)state;
	reset_stats();
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	all = c.shared->capacity + more;
	for (uint64_t i = 1; i <= all; i++)
		dispatch(queue, i, 0);
	wait_executed(queue, all);
	assert_int_equal(fake_stats.dispatches, all);
	assert_int_equal(atomic_load(&process->lost[WT_LOST_OP_SLOT_BUSY]) - before, more);
	assert_int_equal(fake_stats.unsigned_dispatches, more);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

static void test_store_and_cas_reserve(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	struct collector c;

	(void)state;
	reset_stats();
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	FAKE_CORE(table, hsa_queue_store_write_index_relaxed, hsa_queue_store_index_fn)(queue, 2);
	assert_int_equal(FAKE_CORE(table, hsa_queue_cas_write_index_relaxed,
				 hsa_queue_cas_index_fn)(queue, 5, 9),
		2);
	assert_int_equal(FAKE_CORE(table, hsa_queue_cas_write_index_relaxed,
				 hsa_queue_cas_index_fn)(queue, 2, 3),
		2);
	assert_int_equal(FAKE_CORE(table, hsa_queue_load_write_index_relaxed,
				 hsa_queue_load_index_fn)(queue),
		3);
	for (uint64_t i = 0; i < 3; i++)
		write_packet(queue, i, HSA_PACKET_DISPATCH, i + 1, 0);
	ring_bell(queue, 2);
	wait_executed(queue, 3);
	while (c.ops < 3)
		collect(&c);
	assert_int_equal(c.timed, 3);
	assert_int_equal(c.no_producer, 0);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

static void test_fields_of_a_slot(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	struct collector c;

	(void)state;
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	wt_tls.generation = wt_process.generation;
	wt_tls.corr = 0x1234;
	wt_tls.stream = 9;
	dispatch(queue, 0x1000, 0);
	wt_tls.corr = 0;
	wt_tls.stream = 0;
	wt_tls.generation = 0;
	wait_executed(queue, 1);
	assert_int_equal(c.slots[0].corr, 0x1234);
	assert_int_equal(c.slots[0].stream, 9);
	assert_int_equal(c.slots[0].kernel_object, 0x1000);
	assert_int_equal(c.slots[0].grid[0], 64);
	assert_int_equal(c.slots[0].block[0], 64);
	assert_int_equal(c.slots[0].private_dwords, 4);
	assert_true(atomic_load(&c.signals[0].end_ticks) > 0);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

/* A forked child has the parent's queues in its memory: it must leave the slots alone. */
static void test_forked_child_touches_nothing(void **state)
{
	struct hsa_queue *queue = make_queue(64);
	struct collector c;
	int status;
	pid_t pid;

	(void)state;
	open_table(&c, atomic_load(&process->slots_cnt) - 1);
	pid = fork();
	if (!pid) {
		reserve(queue, 4);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(atomic_load(&c.slots[i].word), 0);
	end_queue(queue);
	munmap(c.shared, c.bytes);
}

/* Symbols of one address in turn: each in its own generation. */
static void test_symbol_generations(void **state)
{
	struct wt_ring_reader reader;
	struct wt_ring_run runs[2];
	uint64_t end;
	uint32_t born[2] = {0}, dead = 0, seen = 0;

	(void)state;
	assert_int_equal(wt_ring_reader__open(&reader, (char *)process + WT_PROCESS_RING_OFFSET,
				 WT_PROCESS_FILE_BYTES - WT_PROCESS_RING_OFFSET),
		0);
	wt_ring_reader__peek(&reader, runs, &end);
	wt_ring_reader__release(&reader, end);
	FAKE_CORE(table, hsa_executable_freeze, hsa_executable_freeze_fn)((hsa_executable){3}, "");
	FAKE_CORE(table, hsa_executable_destroy, hsa_executable_destroy_fn)((hsa_executable){3});
	FAKE_CORE(table, hsa_executable_freeze, hsa_executable_freeze_fn)((hsa_executable){4}, "");
	wt_ring_reader__peek(&reader, runs, &end);
	for (int i = 0; i < 2; i++)
		for (uint32_t at = 0; at < runs[i].length;) {
			const struct wt_rec *rec = (const struct wt_rec *)(runs[i].bytes + at);
			const struct wt_rec_symbol *symbol = (const struct wt_rec_symbol *)rec;

			if (rec->type == WT_REC_SYMBOL) {
				assert_int_equal(symbol->name_bytes, 2); /* without ".kd" */
				assert_int_equal(((const char *)(symbol + 1))[1],
					seen ? '4' : '3');
				born[seen++] = rec->id;
			}
			if (rec->type == WT_REC_SYMBOLS_END)
				dead = rec->id;
			at += rec->size8 * 8u;
		}
	assert_int_equal(seen, 2);
	assert_true(born[0] < dead && dead < born[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_producers_one_queue),
		cmocka_unit_test(test_own_signal_keeps_its_times),
		cmocka_unit_test(test_shared_signal_gives_no_times),
		cmocka_unit_test(test_doorbell_past_us),
		cmocka_unit_test(test_third_use_of_a_shared_signal),
		cmocka_unit_test(test_barrier_with_the_same_signal),
		cmocka_unit_test(test_second_use_before_the_first_ended),
		cmocka_unit_test(test_doorbell_before_packet),
		cmocka_unit_test(test_slots_run_out),
		cmocka_unit_test(test_store_and_cas_reserve),
		cmocka_unit_test(test_fields_of_a_slot),
		cmocka_unit_test(test_forked_child_touches_nothing),
		cmocka_unit_test(test_symbol_generations),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
