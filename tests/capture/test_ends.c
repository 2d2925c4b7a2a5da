// SPDX-License-Identifier: MIT
/* The HSA source where things end: forked children, the runtime's end and new start, late looks. */
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

#include "hsa_session.h"

/* ---- threads that cannot be made ------------------------------------------------------- */

static _Atomic bool no_threads;
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main_)(void *),
	void *arg);

/* The library's own threads are the ones with attributes. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main_)(void *),
	void *arg)
{
	return attr && atomic_load(&no_threads) ? EAGAIN
						: __real_pthread_create(thread, attr, main_, arg);
}

/* ---- an application ---------------------------------------------------------------------- */

static struct hsa_queue *make_queue(void)
{
	struct hsa_queue *queue = NULL;

	assert_int_equal(FAKE_CORE(table, hsa_queue_create, hsa_queue_create_fn)(fake_gpu, 64, 0,
				 NULL, NULL, 0, 0, &queue),
		HSA_OK);
	return queue;
}

static void end_queue(struct hsa_queue *queue)
{
	FAKE_CORE(table, hsa_queue_destroy, hsa_queue_destroy_fn)(queue);
}

static hsa_signal make_signal(void)
{
	hsa_signal signal;

	FAKE_CORE(table, hsa_signal_create, hsa_signal_create_fn)(1, 0, NULL, &signal);
	return signal;
}

static void end_signal(hsa_signal signal)
{
	FAKE_CORE(table, hsa_signal_destroy, hsa_signal_destroy_fn)(signal);
}

static uint64_t reserve(struct hsa_queue *queue)
{
	return FAKE_CORE(table, hsa_queue_add_write_index_relaxed, hsa_queue_add_index_fn)(queue,
		1);
}

static void write_packet(struct hsa_queue *queue, uint64_t index, hsa_signal signal)
{
	struct hsa_dispatch_packet *packet =
		(struct hsa_dispatch_packet *)queue->base_address + index % queue->size;

	packet->completion_signal = signal;
	__atomic_store_n(&packet->header, HSA_PACKET_DISPATCH, __ATOMIC_RELEASE);
}

static void ring_bell(struct hsa_queue *queue, uint64_t index)
{
	FAKE_CORE(table, hsa_signal_store_relaxed, hsa_signal_store_fn)
	(queue->doorbell_signal, (int64_t)index);
}

static void dispatch(struct hsa_queue *queue, hsa_signal signal)
{
	uint64_t index = reserve(queue);

	write_packet(queue, index, signal);
	ring_bell(queue, index);
}

static void wait_executed(struct hsa_queue *queue, uint64_t cnt)
{
	while (FAKE_CORE(table, hsa_queue_load_read_index_scacquire, hsa_queue_load_index_fn)(
		       queue) < cnt)
		sched_yield();
}

static void copy(hsa_signal signal)
{
	uint64_t from = 1, to = 0;

	FAKE_AMD(table, hsa_amd_memory_async_copy, hsa_amd_memory_async_copy_fn)
	(&to, fake_gpu, &from, fake_gpu, sizeof(to), 0, NULL, signal);
}

static struct wt_slots_shared *newest_table(void)
{
	size_t bytes;
	struct wt_slots_shared *shared = fake_session__map(WT_FILE_SLOTS, process->number,
		atomic_load(&process->slots_cnt) - 1, &bytes);

	assert_non_null(shared);
	return shared;
}

static struct wt_slot *slot_of(struct wt_slots_shared *shared, uint64_t index)
{
	return (struct wt_slot *)((char *)shared + shared->slots_offset) + index;
}

static struct wt_signal *signal_of(struct wt_slots_shared *shared, uint64_t index)
{
	return (struct wt_signal *)((char *)shared + shared->signals_offset) + index;
}

static int in_child(void (*what)(void *), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(10);
		what(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* ---- tests --------------------------------------------------------------------------------- */

struct scene {
	struct hsa_queue *queue;
	hsa_signal signal;
};

static void tear_down_all(void *arg)
{
	struct scene *scene = arg;

	end_signal(scene->signal);
	/* as the runtime's exit handlers would; the fake's GPU thread is the parent's alone */
	wt_pending__forget(wt_vq__find(scene->queue));
	OnUnload();
}

/* Exit handlers of a forked child tear down what the parent goes on using. */
static void test_child_tears_down(void **state)
{
	struct scene scene = {make_queue(), make_signal()};
	struct wt_slots_shared *shared = newest_table();

	(void)state;
	fake_hsa__hold(true);
	dispatch(scene.queue, scene.signal);
	assert_int_equal(in_child(tear_down_all, &scene), 0);
	assert_int_equal(atomic_load(&signal_of(shared, 0)->value), 1);
	fake_hsa__hold(false);
	wait_executed(scene.queue, 1);
	end_signal(scene.signal);
	assert_true(atomic_load(&signal_of(shared, 0)->end_ticks) > 0);
	end_queue(scene.queue);
}

static hsa_status destroy_nothing(struct hsa_queue *queue)
{
	(void)queue;
	return HSA_OK;
}

static void destroy_queue(void *queue)
{
	wt_hsa.core_fn[HSA_CORE_hsa_queue_destroy] = (void *)destroy_nothing;
	end_queue(queue);
}

/* … and do so while, at the fork, another thread of the parent was ringing. */
static void test_child_destroys_a_busy_queue(void **state)
{
	struct hsa_queue *queue = make_queue();
	struct wt_slots_shared *shared = newest_table();
	struct wt_vq *vq = wt_vq__find(queue);

	(void)state;
	assert_non_null(vq);
	atomic_store(&vq->busy, 1);
	assert_int_equal(in_child(destroy_queue, queue), 0);
	atomic_store(&vq->busy, 0);
	assert_int_equal(atomic_load(&shared->retired), 0);
	dispatch(queue, (hsa_signal){0});
	wait_executed(queue, 1);
	end_queue(queue);
	assert_int_equal(atomic_load(&shared->retired), 1);
}

/* The runtime ends with a queue and a signal still there, and is started again. */
static void test_runtime_comes_back(void **state)
{
	struct hsa_queue *left = make_queue(), *queue;
	hsa_signal signal = make_signal();
	struct wt_slots_shared *shared = newest_table();
	hsa_queue_destroy_fn *original;
	uint32_t tables;

	(void)state;
	dispatch(left, (hsa_signal){0});
	wait_executed(left, 1);
	fake_hsa__hold(true);
	dispatch(left, signal);
	assert_int_equal(wt_pending__count(), 1);
	OnUnload();
	assert_int_equal(wt_pending__count(), 0);
	assert_null(wt_vq__find(left));
	assert_int_equal(atomic_load(&shared->retired), 1);
	original = (hsa_queue_destroy_fn *)wt_hsa.core_fn[HSA_CORE_hsa_queue_destroy];
	fake_hsa__hold(false);
	wait_executed(left, 2);
	original(left);
	free((void *)signal.handle);
	table = fake_hsa__table();
	assert_true(OnLoad(table, 1, 0, NULL));
	for (int i = 0; i < 20; i++) {
		tables = atomic_load(&process->slots_cnt);
		queue = make_queue();
		assert_int_equal(atomic_load(&process->slots_cnt), tables + 1);
		assert_int_equal(FAKE_CORE(table, hsa_queue_load_write_index_relaxed,
					 hsa_queue_load_index_fn)(queue),
			0);
		dispatch(queue, (hsa_signal){0});
		wait_executed(queue, 1);
		end_queue(queue);
		OnUnload();
		table = fake_hsa__table();
		assert_true(OnLoad(table, 1, 0, NULL));
	}
}

/* The keeper asks for a copy's times: meanwhile the application destroys the signal. */
static void test_signal_ends_while_it_is_read(void **state)
{
	struct hsa_queue *queue = make_queue(); /* makes the keeper run */

	(void)state;
	fake_hsa__slow_copy_time(3000);
	for (int i = 0; i < 40; i++) {
		hsa_signal signal = make_signal();

		copy(signal);
		usleep((unsigned)i * 100);
		end_signal(signal);
	}
	fake_hsa__slow_copy_time(0);
	end_queue(queue);
}

/* Queues come and go while the keeper completes their operations. */
static void test_queue_ends_while_signals_fire(void **state)
{
	hsa_signal signals[64];

	(void)state;
	for (int i = 0; i < 64; i++)
		signals[i] = make_signal();
	for (int round = 0; round < 40; round++) {
		struct hsa_queue *queue = make_queue();

		for (int i = 0; i < 64; i++) {
			atomic_store(&((struct wt_signal *)signals[i].handle)->value, 1);
			dispatch(queue, signals[i]);
		}
		wait_executed(queue, 64);
		end_queue(queue);
	}
	for (int i = 0; i < 64; i++)
		end_signal(signals[i]);
	assert_int_equal(wt_pending__count(), 0);
}

/* Memory that cannot be given to the GPU: HSA signals, read by the keeper. */
static void test_pool_mode(void **state)
{
	struct wt_slots_shared *shared;
	struct hsa_queue *queue;
	uint64_t timed = 0;

	(void)state;
	fake_hsa__refuse_lock(true);
	queue = make_queue();
	fake_hsa__refuse_lock(false);
	assert_int_equal(wt_vq__find(queue)->mode, WT_QUEUE_POOL);
	shared = newest_table();
	for (uint64_t i = 0; i < 3 * WT_POOL_SIGNALS; i++) {
		while (i - FAKE_CORE(table, hsa_queue_load_read_index_scacquire,
				   hsa_queue_load_index_fn)(queue) >= queue->size)
			sched_yield();
		dispatch(queue, (hsa_signal){0});
	}
	wait_executed(queue, 3 * WT_POOL_SIGNALS);
	end_queue(queue);
	assert_int_equal(wt_pending__count(), 0);
	for (uint64_t i = 0; i < 3 * WT_POOL_SIGNALS; i++) {
		union wt_slot_word word = {.raw = atomic_load(&slot_of(shared, i)->word)};

		assert_int_equal(word.state, WT_SLOT_SUBMITTED);
		if (word.flags & WT_SLOT_TIMED && atomic_load(&signal_of(shared, i)->end_ticks))
			timed++;
		else
			assert_true(word.untimed || signal_of(shared, i)->reserved3[0]);
	}
	/* the keeper may be held up while it looks at a signal that is needed */
	assert_true(timed > WT_POOL_SIGNALS);
}

/* Without a thread of our own a doorbell before its packet would never be rung again. */
static void test_no_keeper(void **state)
{
	struct hsa_queue *queue;
	uint64_t index;

	(void)state;
	OnUnload();
	table = fake_hsa__table();
	atomic_store(&no_threads, true);
	assert_true(OnLoad(table, 1, 0, NULL));
	queue = make_queue();
	index = reserve(queue);
	ring_bell(queue, index);
	usleep(5000);
	write_packet(queue, index, (hsa_signal){0});
	alarm(10);
	wait_executed(queue, 1);
	alarm(0);
	end_queue(queue);
	OnUnload();
	atomic_store(&no_threads, false);
	table = fake_hsa__table();
	assert_true(OnLoad(table, 1, 0, NULL));
}

/* HIP can be told to ring the hardware itself: a write index held back would stop it. */
static void test_direct_doorbell(void **state)
{
	struct hsa_queue *queue;

	(void)state;
	setenv("DEBUG_CLR_DIRECT_DOORBELL", "1", 1);
	queue = make_queue();
	unsetenv("DEBUG_CLR_DIRECT_DOORBELL");
	assert_null(wt_vq__find(queue));
	dispatch(queue, (hsa_signal){0});
	wait_executed(queue, 1);
	end_queue(queue);
}

static uint64_t defined_at_copy;

static uint64_t defined(void)
{
	return atomic_load(&wt_process.define.shared->head);
}

static hsa_status copy_refused(void *dst, hsa_agent dst_agent, const void *src, hsa_agent src_agent,
	size_t bytes, uint32_t dep_cnt, const hsa_signal *deps, hsa_signal completion)
{
	(void)dst, (void)dst_agent, (void)src, (void)src_agent, (void)bytes, (void)dep_cnt;
	(void)deps, (void)completion;
	defined_at_copy = defined();
	return HSA_ERROR;
}

/* A copy is known of before it can be made, and taken back if it is refused. */
static void test_copy_is_announced(void **state)
{
	void *original = wt_hsa.amd_fn[HSA_AMD_hsa_amd_memory_async_copy];
	hsa_signal signal = make_signal();
	uint64_t before;

	(void)state;
	copy(signal); /* what comes with the first one is there */
	wt_keeper__stop(); /* and nobody else defines */
	before = defined();
	wt_hsa.amd_fn[HSA_AMD_hsa_amd_memory_async_copy] = (void *)copy_refused;
	copy(signal);
	wt_hsa.amd_fn[HSA_AMD_hsa_amd_memory_async_copy] = original;
	assert_true(defined_at_copy >= before + sizeof(struct wt_rec_sdma));
	assert_int_equal(defined() - defined_at_copy, sizeof(struct wt_rec_sdma_end));
	end_signal(signal);
}

/* The collector goes, then the runtime: no thread of ours is left to call it. */
static void test_keeper_ends_without_collector(void **state)
{
	struct hsa_queue *queue = make_queue();
	uint64_t index = reserve(queue);

	(void)state;
	wt_process__stop();
	OnUnload();
	ring_bell(queue, index);
	write_packet(queue, index, (hsa_signal){0});
	usleep(100000);
	assert_int_equal(wt_keeper__running(), false);
	FAKE_CORE(table, hsa_queue_destroy, hsa_queue_destroy_fn)(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_tears_down),
		cmocka_unit_test(test_child_destroys_a_busy_queue),
		cmocka_unit_test(test_runtime_comes_back),
		cmocka_unit_test(test_signal_ends_while_it_is_read),
		cmocka_unit_test(test_queue_ends_while_signals_fire),
		cmocka_unit_test(test_pool_mode),
		cmocka_unit_test(test_no_keeper),
		cmocka_unit_test(test_direct_doorbell),
		cmocka_unit_test(test_copy_is_announced),
		cmocka_unit_test(test_keeper_ends_without_collector),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
