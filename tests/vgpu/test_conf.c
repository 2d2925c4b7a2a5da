// SPDX-License-Identifier: MIT
/* Paths, address translation, event rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vgpu.h"

static void paths(void **state)
{
	static const char *const ours[] = {"/dev/kfd", "/dev/dri", "/dev/dri/renderD128",
		"/sys/class/kfd/kfd/topology", "/sys/devices/virtual/kfd/kfd", "/proc/modules",
		"/sys/dev/char/226:128/device/drm", "/sys/module/amdgpu/initstate",
		"/sys/class/drm"};
	static const char *const theirs[] = {"/dev/kfd2", "/dev/drift", "/dev/null",
		"/proc/self/stat", "/sys/class/kfdx", "dev/kfd", "", "/", "/sys/dev/char/22",
		"/proc/modules2"};

	(void)state;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		assert_true(vg_path_is_ours(ours[i]));
	for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
		assert_false(vg_path_is_ours(theirs[i]));
	assert_false(vg_path_is_ours(NULL));
	assert_int_equal(vg_path_device("/dev/kfd"), VG_FD_KFD);
	assert_int_equal(vg_path_device("/dev/dri/renderD128"), 1);
	assert_int_equal(vg_path_device("/dev/dri/renderD135"), 8);
	assert_int_equal(vg_path_device("/dev/dri/renderD136"), VG_FD_NONE);
	assert_int_equal(vg_path_device("/dev/dri/renderD128x"), VG_FD_NONE);
	assert_int_equal(vg_path_device("/dev/dri/card0"), VG_FD_NONE);
	assert_int_equal(vg_path_device(NULL), VG_FD_NONE);
}

static void start_times(void **state)
{
	pid_t pid = fork();
	siginfo_t info;
	int status;

	(void)state;
	if (!pid)
		for (;;)
			pause();
	assert_true(vg_start_time(getpid()) > 0);
	assert_true(vg_start_time(pid) >= vg_start_time(getpid()));
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	assert_int_equal(vg_start_time(pid), 0); /* a corpse that nobody collected */
	waitpid(pid, &status, 0);
	assert_int_equal(vg_start_time(pid), 0);
}

/* ---- translation ---- */

static void translation(void **state)
{
	struct vg_alias_map *m = vg_alias__new();
	struct vg_va_cache c = {0};

	(void)state;
	assert_int_equal(vg_alias__look(m, 0x5000, &c), 0x5000);
	assert_int_equal(vg_alias__add(m, 0x4000, 0x104000, 0x1000), 0);
	assert_int_equal(vg_alias__look(m, 0x3fff, &c), 0x3fff);
	assert_int_equal(vg_alias__look(m, 0x4000, &c), 0x104000);
	assert_int_equal(vg_alias__look(m, 0x4fff, &c), 0x104fff);
	assert_int_equal(vg_alias__look(m, 0x5000, &c), 0x5000);
	assert_int_equal(vg_alias__add(m, 0x2000, 0x902000, 0x1000), 0);
	assert_int_equal(vg_alias__add(m, 0x5000, 0x1000, 0x800), 0);
	assert_int_equal(vg_alias__look(m, 0x57ff, &c), 0x17ff);
	assert_int_equal(vg_alias__look(m, 0x5800, &c), 0x5800);
	assert_int_equal(vg_alias__look(m, 0x2abc, &c), 0x902abc);
	assert_int_equal(vg_alias__del(m, 0x4000), 0);
	assert_int_equal(vg_alias__del(m, 0x4000), -ENOENT);
	assert_int_equal(vg_alias__look(m, 0x4000, &c), 0x4000);
	assert_int_equal(vg_alias__look(m, 0x5010, &c), 0x1010);
	assert_int_equal(vg_alias__add(m, UINT64_MAX, 0, 2), -EINVAL);
	vg_alias__free(m);
}

static void gaps_are_cached(void **state)
{
	struct vg_alias_map *m = vg_alias__new();
	struct vg_va_cache c = {0};

	(void)state;
	assert_int_equal(vg_alias__add(m, 0x4000, 0x104000, 0x1000), 0);
	assert_int_equal(vg_alias__add(m, 0x8000, 0x108000, 0x1000), 0);
	vg_alias__look(m, 0x6000, &c);
	assert_int_equal(c.lo, 0x5000);
	assert_int_equal(c.hi, 0x8000);
	assert_int_equal(c.delta, 0);
	vg_alias__free(m);
}

static _Atomic bool finished;

static void *translate(void *arg)
{
	struct vg_alias_map *m = arg;
	struct vg_va_cache c = {0};
	size_t wrong = 0;

	while (!atomic_load(&finished))
		for (uint64_t i = 0; i < 64; i++) {
			/* Range 32 stays; the others come and go, but never show another's target.
			 */
			uint64_t va = i * 0x1000 + 8, t = vg_alias__look(m, va, &c);

			wrong += t != va + 0x100000 && (i == 32 || t != va);
		}
	return (void *)wrong;
}

static void translation_while_changing(void **state)
{
	struct vg_alias_map *m = vg_alias__new();
	pthread_t t[2];
	void *wrong;

	(void)state;
	atomic_store(&finished, false);
	assert_int_equal(vg_alias__add(m, 32 * 0x1000, 32 * 0x1000 + 0x100000, 0x1000), 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, translate, m);
	for (int round = 0; round < 300; round++) {
		for (uint64_t i = 0; i < 64; i++)
			if (i != 32)
				vg_alias__add(m, i * 0x1000, i * 0x1000 + 0x100000, 0x1000);
		for (uint64_t i = 0; i < 64; i++)
			if (i != 32)
				vg_alias__del(m, i * 0x1000);
	}
	atomic_store(&finished, true);
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &wrong);
		assert_ptr_equal(wrong, NULL);
	}
	vg_alias__free(m);
}

/* ---- events ---- */

static uint32_t new_event(bool auto_reset)
{
	struct kfd_ioctl_create_event_args a = {
		.event_type = KFD_IOC_EVENT_SIGNAL, .auto_reset = auto_reset};

	assert_int_equal(vg_event__create(&a), 0);
	assert_true(a.event_page_offset != 0);
	assert_int_equal(a.event_slot_index, a.event_id);
	return a.event_id;
}

static uint32_t wait_for(const uint32_t *ids, uint32_t cnt, bool all, uint32_t timeout_ms)
{
	struct kfd_event_data d[40];
	struct kfd_ioctl_wait_events_args a = {.events_ptr = (uintptr_t)d,
		.num_events = cnt,
		.wait_for_all = all,
		.timeout = timeout_ms};

	memset(d, 0, sizeof d);
	for (uint32_t i = 0; i < cnt; i++)
		d[i].event_id = ids[i];
	assert_int_equal(vg_event__wait(&a), 0);
	return a.wait_result;
}

static void events(void **state)
{
	uint32_t id[2] = {new_event(true), new_event(false)};

	(void)state;
	assert_int_equal(wait_for(id, 2, false, 0), KFD_IOC_WAIT_RESULT_TIMEOUT);
	vg_event__set(id[0]);
	assert_int_equal(wait_for(id, 2, true, 1), KFD_IOC_WAIT_RESULT_TIMEOUT);
	/* waiting for it used it up, all or not */
	assert_int_equal(wait_for(id, 1, false, 0), KFD_IOC_WAIT_RESULT_TIMEOUT);
	vg_event__set(id[1]);
	assert_int_equal(wait_for(id + 1, 1, false, 0), KFD_IOC_WAIT_RESULT_COMPLETE);
	assert_int_equal(wait_for(id + 1, 1, false, 0), KFD_IOC_WAIT_RESULT_COMPLETE);
	vg_event__reset(id[1]);
	assert_int_equal(wait_for(id + 1, 1, false, 0), KFD_IOC_WAIT_RESULT_TIMEOUT);
	assert_int_equal(vg_event__destroy(id[0]), 0);
	assert_int_equal(vg_event__destroy(id[0]), -EINVAL);
	assert_int_equal(vg_event__destroy(id[1]), 0);
	assert_int_equal(vg_event__set(id[1]), -EINVAL);
}

static void *interrupt_later(void *arg)
{
	usleep(20000);
	vg_event__interrupt(*(uint32_t *)arg);
	return NULL;
}

static void blocked_waiters(void **state)
{
	uint32_t ids[40];
	pthread_t t;

	(void)state;
	for (int i = 0; i < 40; i++)
		ids[i] = new_event(true);
	pthread_create(&t, NULL, interrupt_later, &ids[37]);
	assert_int_equal(wait_for(ids, 40, false, UINT32_MAX), KFD_IOC_WAIT_RESULT_COMPLETE);
	pthread_join(t, NULL);
	/* somebody waited, so it does not stay set */
	assert_int_equal(wait_for(&ids[37], 1, false, 0), KFD_IOC_WAIT_RESULT_TIMEOUT);
	for (int i = 0; i < 40; i++)
		vg_event__destroy(ids[i]);
}

static void *wait_in_thread(void *arg)
{
	return (void *)(uintptr_t)wait_for(arg, 1, false, 0);
}

/* One thread sets an event, finds it set and sleeps; the one it was meant for comes later. */
static void second_taker(void **state)
{
	uint32_t id = new_event(true);
	pthread_t t;
	void *result;

	(void)state;
	vg_event__set(id);
	assert_int_equal(wait_for(&id, 1, false, 0), KFD_IOC_WAIT_RESULT_COMPLETE);
	assert_int_equal(wait_for(&id, 1, false, 0), KFD_IOC_WAIT_RESULT_TIMEOUT);
	pthread_create(&t, NULL, wait_in_thread, &id);
	pthread_join(t, &result);
	assert_int_equal((uintptr_t)result, KFD_IOC_WAIT_RESULT_COMPLETE);
	/* once */
	pthread_create(&t, NULL, wait_in_thread, &id);
	pthread_join(t, &result);
	assert_int_equal((uintptr_t)result, KFD_IOC_WAIT_RESULT_TIMEOUT);
	vg_event__destroy(id);
}

static void event_age(void **state)
{
	uint32_t id = new_event(true);
	struct kfd_event_data d = {.event_id = id};
	struct kfd_ioctl_wait_events_args a = {.events_ptr = (uintptr_t)&d, .num_events = 1};
	uint64_t age = 1;

	(void)state;
	memcpy(&d, &age, sizeof age);
	assert_int_equal(vg_event__wait(&a), 0);
	assert_int_equal(a.wait_result, KFD_IOC_WAIT_RESULT_TIMEOUT);
	vg_event__set(id);
	vg_event__reset(id); /* missed, but for its age */
	assert_int_equal(vg_event__wait(&a), 0);
	assert_int_equal(a.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE);
	memcpy(&age, &d, sizeof age);
	assert_int_equal(age, 2);
	vg_event__destroy(id);
}

static void event_limit(void **state)
{
	struct kfd_ioctl_create_event_args a = {.event_type = KFD_IOC_EVENT_SIGNAL};
	uint32_t cnt = 0;

	(void)state;
	while (!vg_event__create(&a))
		assert_int_equal(a.event_id, ++cnt);
	assert_int_equal(cnt, KFD_SIGNAL_EVENT_LIMIT - 1);
	assert_int_equal(vg_event__create(&a), -ENOSPC);
	assert_int_equal(vg_event__destroy(77), 0);
	assert_int_equal(vg_event__create(&a), 0);
	assert_int_equal(a.event_id, 77);
	/* other types have their own range */
	a.event_type = KFD_IOC_EVENT_MEMORY;
	assert_int_equal(vg_event__create(&a), 0);
	assert_int_equal(a.event_id, KFD_SIGNAL_EVENT_LIMIT);
	vg_event__destroy(a.event_id);
	for (uint32_t i = 1; i <= cnt; i++)
		assert_int_equal(vg_event__destroy(i), 0);
}

static void fork_starts_afresh(void **state)
{
	uint32_t id = new_event(false);
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		_exit(vg_event__set(id) == -EINVAL ? 0 : 1);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(vg_event__set(id), 0);
	vg_event__destroy(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(start_times),
		cmocka_unit_test(translation),
		cmocka_unit_test(gaps_are_cached),
		cmocka_unit_test(translation_while_changing),
		cmocka_unit_test(events),
		cmocka_unit_test(blocked_waiters),
		cmocka_unit_test(second_taker),
		cmocka_unit_test(event_age),
		cmocka_unit_test(event_limit),
		cmocka_unit_test(fork_starts_afresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
