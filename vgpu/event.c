// SPDX-License-Identifier: MIT
/*
 * KFD events, by the rules of the kernel's kfd_events.c: setting an event leaves it signalled
 * unless it resets itself and somebody waits; it activates every waiter; its age counts the sets.
 */
#include "vgpu.h"

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct waiter;
struct wait_link {
	struct event *event; /* NULL once the event is destroyed */
	struct waiter *waiter;
	struct wait_link *next, **prev;
	bool activated;
};
struct waiter {
	_Atomic uint32_t wake;
};
struct event {
	bool used, auto_reset, signaled;
	uint32_t type;
	uint64_t age;
	struct wait_link *waiters;
	pthread_t taker; /* who found it signalled and took that, while has_taker */
	bool has_taker;
	struct kfd_event_data data; /* of an exception */
};
struct vg_event_state {
	struct vg_lock lock;
	uint32_t first_free; /* no free signal event below */
	uint64_t *page;      /* slots that the thunk allocated, in its first call */
	uint32_t page_slots;
	struct event events[VG_MAX_EVENTS];
};

/* KFD 1.14 passes the age in the event's union: its first quadword. */
typedef uint64_t __attribute__((may_alias)) aliased_u64;
static aliased_u64 *age_of(struct kfd_event_data *d)
{
	return (aliased_u64 *)&d->memory_exception_data;
}

static struct vg_event_state *state(void)
{
	return vg_part(&vg_proc()->event, sizeof(struct vg_event_state));
}

static struct event *lookup(struct vg_event_state *s, uint32_t id)
{
	return id < VG_MAX_EVENTS && s->events[id].used ? &s->events[id] : NULL;
}

static void wake(struct waiter *w)
{
	atomic_fetch_add(&w->wake, 1);
	vg_futex_wake(&w->wake, 1);
}

static void set_event(struct event *e)
{
	e->signaled = !e->auto_reset || !e->waiters;
	e->has_taker = false;
	e->age++;
	for (struct wait_link *l = e->waiters; l; l = l->next) {
		l->activated = true;
		wake(l->waiter);
	}
}

void vg_event__interrupt(uint32_t id)
{
	struct vg_event_state *s = state();
	struct event *e;

	if (!s)
		return;
	vg_lock(&s->lock);
	e = lookup(s, id);
	if (e) {
		if (vg_proc()->spool.header)
			atomic_fetch_add_explicit(
				&vg_proc()->spool.header->interrupts, 1, memory_order_relaxed);
		if (s->page && id < s->page_slots)
			s->page[id] = ~0ull; /* UNSIGNALED_EVENT_SLOT: the driver has seen it */
		set_event(e);
	}
	vg_unlock(&s->lock);
}

/* Exceptions reach every event of their type. */
static void raise_exception(uint32_t type, const struct kfd_event_data *data)
{
	struct vg_event_state *s = state();

	if (!s)
		return;
	vg_lock(&s->lock);
	for (uint32_t id = KFD_SIGNAL_EVENT_LIMIT; id < VG_MAX_EVENTS; id++)
		if (s->events[id].used && s->events[id].type == type) {
			s->events[id].data = *data;
			set_event(&s->events[id]);
		}
	vg_unlock(&s->lock);
}

void vg_event__memory_exception(const struct kfd_hsa_memory_exception_data *d)
{
	struct kfd_event_data data = {.memory_exception_data = *d};

	raise_exception(KFD_IOC_EVENT_MEMORY, &data);
}

void vg_event__hw_exception(const struct kfd_hsa_hw_exception_data *d)
{
	struct kfd_event_data data = {.hw_exception_data = *d};

	raise_exception(KFD_IOC_EVENT_HW_EXCEPTION, &data);
}

/* On a discrete GPU the thunk allocates the page of event slots and names it in its first call. */
static void adopt_page(struct vg_event_state *s, uint64_t handle)
{
	struct vg_bo bo;

	if (!vg_mem__bo(handle, &bo))
		return;
	s->page = (uint64_t *)(uintptr_t)bo.va;
	s->page_slots = bo.size / 8 < KFD_SIGNAL_EVENT_LIMIT ? (uint32_t)(bo.size / 8)
							     : KFD_SIGNAL_EVENT_LIMIT;
	memset(s->page, 0xff, s->page_slots * 8ull);
}

int vg_event__create(struct kfd_ioctl_create_event_args *a)
{
	bool sig =
		a->event_type == KFD_IOC_EVENT_SIGNAL || a->event_type == KFD_IOC_EVENT_DEBUG_EVENT;
	/* Id 0 is the kernel's own, for interrupts without an id. */
	uint32_t first = sig ? 1 : KFD_SIGNAL_EVENT_LIMIT;
	uint32_t end = sig ? KFD_SIGNAL_EVENT_LIMIT : VG_MAX_EVENTS;
	struct vg_event_state *s = state();
	uint32_t id;

	if (!s)
		return -ENOMEM;
	vg_lock(&s->lock);
	if (a->event_page_offset && !s->page)
		adopt_page(s, a->event_page_offset);
	id = sig && s->first_free > first ? s->first_free : first;
	while (id < end && s->events[id].used)
		id++;
	if (sig)
		s->first_free = id;
	if (id == end) {
		vg_unlock(&s->lock);
		return -ENOSPC;
	}
	s->events[id] = (struct event){
		.used = true, .auto_reset = a->auto_reset, .type = a->event_type, .age = 1};
	a->event_id = id;
	a->event_trigger_data = id;
	a->event_slot_index = sig ? id : 0;
	/* Non-zero for every signal event, or the thunk leaves HWData2 0: the signal would have no
	 * mailbox, no interrupt would ever come. The value is the kernel's KFD_MMAP_TYPE_EVENTS. */
	if (sig)
		a->event_page_offset = 2ull << 62;
	vg_unlock(&s->lock);
	return 0;
}

int vg_event__destroy(uint32_t id)
{
	struct vg_event_state *s = state();
	struct event *e;

	if (!s)
		return -EINVAL;
	vg_lock(&s->lock);
	e = lookup(s, id);
	if (e) {
		for (struct wait_link *l = e->waiters; l; l = l->next) {
			l->event = NULL; /* its waiters fail */
			wake(l->waiter);
		}
		e->used = false;
		e->waiters = NULL;
		if (id < s->first_free)
			s->first_free = id;
	}
	vg_unlock(&s->lock);
	return e ? 0 : -EINVAL;
}

int vg_event__set(uint32_t id)
{
	struct vg_event_state *s = state();
	struct event *e;

	if (!s)
		return -EINVAL;
	vg_lock(&s->lock);
	e = lookup(s, id);
	if (e)
		set_event(e);
	vg_unlock(&s->lock);
	vg_queue__hint(); /* ROCr does this after it stored to a signal: a queue may wait for it */
	return e ? 0 : -EINVAL;
}

int vg_event__reset(uint32_t id)
{
	struct vg_event_state *s = state();
	struct event *e;

	if (!s)
		return -EINVAL;
	vg_lock(&s->lock);
	e = lookup(s, id);
	if (e)
		e->signaled = false;
	vg_unlock(&s->lock);
	return e ? 0 : -EINVAL;
}

static bool uses_age(const struct wait_link *l, struct kfd_event_data *d)
{
	return l->event->type == KFD_IOC_EVENT_SIGNAL && vg_proc()->conf.kfd_minor >= 14 &&
	       *age_of(d);
}

/*
 * Kinder than the driver: an event that resets itself and was set while nobody
 * waited wakes, once, one other thread beside the one that found it set. ROCm
 * 5.2 waits for one event in two threads when it destroys a queue; the thread
 * that set it may take the wake-up of the other, which has looked at the value
 * before and then sleeps for good. On the two busy cores of a test machine
 * that was one start in a thousand. A wake-up too many is harmless: whoever
 * waits looks at the value again.
 */
static bool is_second_taker(const struct event *e)
{
	return e->auto_reset && e->has_taker && !pthread_equal(e->taker, pthread_self());
}

static void take(struct event *e)
{
	if (!e->auto_reset)
		return;
	if (e->signaled) {
		e->taker = pthread_self();
		e->has_taker = true;
	} else if (is_second_taker(e)) {
		e->has_taker = false;
	}
	e->signaled = false;
}

/* Enters the waiter at its events; returns how many could be entered. */
static uint32_t enter(struct vg_event_state *s, struct waiter *w, struct kfd_event_data *d,
	struct wait_link *links, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		struct event *e = lookup(s, d[i].event_id);
		struct wait_link *l = &links[i];

		if (!e)
			return i;
		*l = (struct wait_link){.event = e,
			.waiter = w,
			.activated = e->signaled || is_second_taker(e)};
		take(e);
		if (uses_age(l, &d[i]) && e->age != *age_of(&d[i]))
			l->activated = true;
		l->next = e->waiters;
		l->prev = &e->waiters;
		if (e->waiters)
			e->waiters->prev = &l->next;
		e->waiters = l;
	}
	return cnt;
}

static void leave(struct wait_link *links, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (links[i].event) {
			*links[i].prev = links[i].next;
			if (links[i].next)
				links[i].next->prev = links[i].prev;
		}
}

/* -1: go on waiting; else KFD_IOC_WAIT_RESULT_*. */
static int look(struct kfd_event_data *d, struct wait_link *links, uint32_t cnt, bool all)
{
	uint32_t activated = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		if (!links[i].event)
			return KFD_IOC_WAIT_RESULT_FAIL;
		activated += links[i].activated;
	}
	if (all ? activated < cnt : !activated)
		return -1;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct event *e = links[i].event;

		if (links[i].activated && uses_age(&links[i], &d[i]))
			*age_of(&d[i]) = e->age;
		else if (links[i].activated && e->type == KFD_IOC_EVENT_MEMORY)
			d[i].memory_exception_data = e->data.memory_exception_data;
		else if (links[i].activated && e->type == KFD_IOC_EVENT_HW_EXCEPTION)
			d[i].hw_exception_data = e->data.hw_exception_data;
	}
	return KFD_IOC_WAIT_RESULT_COMPLETE;
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int vg_event__wait(struct kfd_ioctl_wait_events_args *a)
{
	struct kfd_event_data *d = (struct kfd_event_data *)(uintptr_t)a->events_ptr;
	uint64_t deadline = monotonic_ns() + a->timeout * 1000000ull;
	struct wait_link few[16], *links = few;
	struct vg_event_state *s = state();
	struct waiter w = {0};
	uint32_t cnt = a->num_events, entered;
	int result = -1;

	if (!s || cnt > VG_MAX_EVENTS)
		return -EINVAL;
	if (cnt > sizeof few / sizeof *few) {
		links = malloc(cnt * sizeof *links);
		if (!links)
			return -ENOMEM;
	}
	vg_queue__hint();
	vg_lock(&s->lock);
	entered = enter(s, &w, d, links, cnt);
	while (entered == cnt) {
		uint32_t seen = atomic_load(&w.wake);
		uint64_t now = monotonic_ns();

		result = look(d, links, cnt, a->wait_for_all);
		if (result >= 0)
			break;
		if (a->timeout != UINT32_MAX && now >= deadline) {
			result = KFD_IOC_WAIT_RESULT_TIMEOUT;
			break;
		}
		vg_unlock(&s->lock);
		vg_futex_wait(&w.wake, seen, a->timeout == UINT32_MAX ? 0 : deadline - now);
		vg_lock(&s->lock);
	}
	leave(links, entered);
	vg_unlock(&s->lock);
	if (links != few)
		free(links);
	if (entered != cnt)
		return -EINVAL;
	a->wait_result = (uint32_t)result;
	return result == KFD_IOC_WAIT_RESULT_FAIL ? -EIO : 0;
}
