// SPDX-License-Identifier: MIT
/*
 * Faults on request. A rule is asked at each packet, interrupt or call of its kind and counts those
 * that fit; what it then does is what the driver and the hardware would do, by the driver's own
 * structures, so that the runtime's handlers run as they are.
 */
#include "fault.h"
#include "queue.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/prctl.h>

#define MAX_LATE 1024 /* interrupts under way; more than these come at once */

struct late {
	uint64_t due; /* machine time */
	uint32_t event;
};

struct vg_fault_state {
	struct vg_fault_rule rules[VG_MAX_FAULTS];
	_Atomic uint64_t seen[VG_MAX_FAULTS]; /* what fitted a rule so far */
	unsigned cnt;
	unsigned classes;             /* of all rules */
	uint64_t opened[VG_MAX_GPUS]; /* gpu time, as all times here but those of late interrupts */
	_Atomic bool lost[VG_MAX_GPUS];

	struct vg_lock log_lock;
	struct vg_spool_cursor log;

	struct vg_lock late_lock;
	_Atomic uint32_t late_word; /* futex of the thread that delivers */
	_Atomic uint32_t late_started;
	unsigned late_cnt;
	struct late late[MAX_LATE]; /* in no order */
};

void vg_fault__open(struct vg_proc *p)
{
	struct vg_fault_state *s;
	char why[256];
	int cnt;

	if (!p->conf.fault)
		return;
	s = vg_zalloc(sizeof *s);
	if (!s)
		return;
	cnt = vg_fault__parse(p->conf.fault, s->rules, why, sizeof why);
	if (cnt < 0) {
		vg_trace("VGPU_FAULT: %s: no faults", why);
		return;
	}
	s->cnt = (unsigned)cnt;
	for (int i = 0; i < cnt; i++)
		s->classes |= vg_fault_kinds[s->rules[i].kind].at;
	for (int i = 0; i < p->conf.gpu_cnt; i++)
		s->opened[i] = vg_gpu_now(i);
	__atomic_store_n(&p->fault, s, __ATOMIC_RELEASE);
}

static struct vg_fault_state *state(unsigned classes)
{
	struct vg_fault_state *s = __atomic_load_n(&vg_proc()->fault, __ATOMIC_ACQUIRE);

	return s && s->classes & classes ? s : NULL;
}

/* ---- the log's line ---- */

static void put_line(struct vg_spool_cursor *log, enum vg_fault_kind kind, const char rule[96],
	int gpu, const struct vg_queue *q, uint64_t index, uint64_t time, uint64_t value)
{
	struct vg_rec_fault *rec = vg_spool__slots(&vg_proc()->spool, log, 1);

	if (!rec)
		return;
	rec->fault = (uint8_t)kind;
	rec->gpu = (uint8_t)gpu;
	rec->has_packet = q != NULL;
	rec->queue = q ? q->seq : 0;
	rec->index = index;
	rec->time = time;
	rec->value = value;
	memcpy(rec->rule, rule, sizeof rec->rule);
	__atomic_store_n(&rec->kind, VG_REC_FAULT, __ATOMIC_RELEASE);
}

static void log_fault(struct vg_fault_state *s, const struct vg_fault_rule *r, int gpu,
	const struct vg_queue *q, uint64_t index, uint64_t time, uint64_t value)
{
	TRACE(1, "fault %s on GPU %d", r->text, gpu);
	vg_lock(&s->log_lock);
	put_line(&s->log, r->kind, r->text, gpu, q, index, time, value);
	vg_unlock(&s->log_lock);
}

/* ---- which rule ---- */

struct subject {
	enum vg_fault_class at;
	int gpu;
	const struct vg_queue *q;
	uint64_t index;
	const struct vg_kernel *kernel;
	uint64_t time;
	int call; /* enum vg_fault_kind of a call */
	uint64_t bytes;
};

static bool fits(
	const struct vg_fault_state *s, const struct vg_fault_rule *r, const struct subject *o)
{
	if (vg_fault_kinds[r->kind].at != o->at ||
		(o->at == VG_FAULT_AT_CALL && (int)r->kind != o->call) ||
		(r->kind == VG_FAULT_QUEUE_ERROR && !o->q->aql) ||
		(r->gpu != VG_FAULT_ANY && r->gpu != (uint64_t)o->gpu) ||
		(r->queue != VG_FAULT_ANY && r->queue != o->q->seq) ||
		(r->packet != VG_FAULT_ANY && r->packet != o->index) ||
		(r->above && o->bytes <= r->above) || o->time - s->opened[o->gpu] < r->at_ns)
		return false;
	if (!*r->kernel)
		return true;
	if (!o->kernel || !o->kernel->name)
		return false;
	return vg_name_fits(r->kernel, o->kernel->name);
}

/* Every rule counts for itself; the first one that is due acts. */
static int due_rule(struct vg_fault_state *s, const struct subject *o)
{
	int due = -1;

	for (unsigned i = 0; i < s->cnt; i++) {
		const struct vg_fault_rule *r = &s->rules[i];
		uint64_t n;

		if (!fits(s, r, o))
			continue;
		n = atomic_fetch_add(&s->seen[i], 1) + 1;
		if (due < 0 && (!r->nth || n == r->nth) && (!r->every || n % r->every == 0))
			due = (int)i;
	}
	return due;
}

/* ---- packets ---- */

/* Queues of this GPU stop for good: nothing that runs on them comes to its end. */
static void halt_gpu(int gpu)
{
	struct vg_queue_table *t = vg_queue__table();

	vg_lock(&t->lock);
	for (uint32_t i = 0; i < t->queue_end; i++)
		if (t->queues[i] && t->queues[i]->gpu == gpu)
			atomic_store(&t->queues[i]->halted, true);
	vg_unlock(&t->lock);
}

enum vg_fault_act vg_fault__packet(
	struct vg_queue *q, uint64_t index, uint64_t start, uint64_t kernel_object)
{
	struct vg_fault_state *s = state(VG_FAULT_AT_PACKET);
	struct subject o = {VG_FAULT_AT_PACKET, q->gpu, q, index, NULL, start, 0, 0};
	const struct vg_fault_rule *r;
	int i;

	if (!s)
		return VG_FAULT_NONE;
	if (kernel_object)
		o.kernel = vg_kernel__find(q, kernel_object);
	i = due_rule(s, &o);
	if (i < 0)
		return VG_FAULT_NONE;
	r = &s->rules[i];
	if (r->kind != VG_FAULT_STALL) {
		q->fault_rule = (unsigned)i;
		return VG_FAULT_STRIKES;
	}
	q->stall_until =
		r->for_ns == VG_FAULT_FOREVER ? UINT64_MAX : start + vg_whole_ticks(r->for_ns);
	atomic_store(&q->stalled, true);
	log_fault(s, r, q->gpu, q, index, start, q->stall_until);
	return VG_FAULT_STALLS;
}

bool vg_fault__stalled(struct vg_queue *q)
{
	if (q->stall_until > vg_gpu_now(q->gpu))
		return true;
	if (q->stall_until > q->floor)
		q->floor = q->stall_until;
	q->stall_until = 0;
	atomic_store(&q->stalled, false);
	return false;
}

static void memory_fault(uint64_t va, uint64_t reason, int gpu)
{
	struct kfd_hsa_memory_exception_data d = {
		.failure = {.NotPresent = reason == VG_FAULT_NOT_PRESENT,
			.ReadOnly = reason == VG_FAULT_READ_ONLY,
			.NoExecute = reason == VG_FAULT_NO_EXECUTE},
		.va = va & ~0xfffull, /* the hardware tells the page */
		.gpu_id = VG_GPU_ID(gpu)};

	halt_gpu(gpu);
	vg_event__memory_exception(&d);
}

static void gpu_reset(int gpu)
{
	struct kfd_hsa_hw_exception_data d = {.reset_type = KFD_HW_EXCEPTION_WHOLE_GPU_RESET,
		.reset_cause = KFD_HW_EXCEPTION_GPU_HANG,
		.memory_lost = 1,
		.gpu_id = VG_GPU_ID(gpu)};

	halt_gpu(gpu);
	vg_event__hw_exception(&d);
}

/*
 * The driver stores the exception's bit where the queue's save area says, and sets the event named
 * there. Without such a place (no support for exceptions when the queue was made) the code goes
 * into the queue's signal queue_inactive_signal, as from the trap handler or the packet processor.
 */
void vg_fault__queue_error(struct vg_queue *q, const struct vg_fault_code *code)
{
	const struct abi_save_area *area = q->save_area;
	struct abi_signal *signal;
	uint64_t mailbox;
	uint32_t id;

	atomic_store(&q->halted, true);
	if (area && area->error_payload) {
		id = area->error_event;
		__atomic_store_n((int64_t *)vg_va(area->error_payload, &q->va_data),
			1ll << (code->exception - 1), __ATOMIC_SEQ_CST);
		vg_event__set(id);
		return;
	}
	if (!q->aql->queue_inactive_signal)
		return;
	signal = vg_va(q->aql->queue_inactive_signal, &q->va_signal);
	mailbox = signal->event_mailbox_ptr;
	id = signal->event_id;
	__atomic_fetch_or(&signal->value, (int64_t)code->inactive, __ATOMIC_SEQ_CST);
	if (mailbox) {
		__atomic_store_n(
			(uint64_t *)vg_va(mailbox, &q->va_data), (uint64_t)id, __ATOMIC_RELEASE);
		vg_event__interrupt(id);
	}
}

void vg_fault__strike(struct vg_queue *q, uint64_t index, uint64_t start)
{
	struct vg_fault_state *s = state(VG_FAULT_AT_PACKET);
	const struct vg_fault_rule *r = &s->rules[q->fault_rule];

	log_fault(s, r, q->gpu, q, index, start,
		r->kind == VG_FAULT_MEMORY        ? r->address & ~0xfffull
		: r->kind == VG_FAULT_QUEUE_ERROR ? r->code->exception
						  : 0);
	switch (r->kind) {
	case VG_FAULT_MEMORY:
		memory_fault(r->address, r->reason, q->gpu);
		break;
	case VG_FAULT_QUEUE_ERROR:
		vg_fault__queue_error(q, r->code);
		break;
	case VG_FAULT_LOST:
		atomic_store(&s->lost[q->gpu], true);
		gpu_reset(q->gpu);
		break;
	default:
		gpu_reset(q->gpu);
	}
}

void vg_fault__access(struct vg_queue *q, uint64_t index, uint64_t start, uint64_t va)
{
	static const char nobody[96]; /* no rule: the program's own doing */

	TRACE(1, "queue %u packet %llu reaches for 0x%llx, which is in no buffer", q->id,
		(unsigned long long)index, (unsigned long long)va);
	put_line(&q->spool, VG_FAULT_MEMORY, nobody, q->gpu, q, index, start, va & ~0xfffull);
	memory_fault(va, VG_FAULT_NOT_PRESENT, q->gpu);
}

/* ---- interrupts ---- */

static void *late_main(void *arg)
{
	struct vg_fault_state *s = arg;

	prctl(PR_SET_NAME, "vgpu-late");
	for (;;) {
		uint32_t word = atomic_load(&s->late_word);
		uint64_t now = vg_now(), next = 0;

		vg_lock(&s->late_lock);
		for (unsigned i = 0; i < s->late_cnt; i++) {
			if (s->late[i].due <= now) {
				uint32_t id = s->late[i].event;

				s->late[i--] = s->late[--s->late_cnt];
				vg_event__interrupt(id);
			} else if (!next || s->late[i].due - now < next) {
				next = s->late[i].due - now;
			}
		}
		vg_unlock(&s->late_lock);
		vg_futex_wait(&s->late_word, word, next);
	}
	return NULL;
}

static void start_late(struct vg_proc *p)
{
	pthread_t thread;

	if (vg_queue__start_thread(&thread, late_main, p->fault, true))
		vg_trace("the thread of late interrupts could not be started");
}

static void deliver_later(struct vg_fault_state *s, uint64_t due, uint32_t event)
{
	bool room;

	vg_once(&s->late_started, start_late);
	vg_lock(&s->late_lock);
	room = s->late_cnt < MAX_LATE;
	if (room)
		s->late[s->late_cnt++] = (struct late){due, event};
	vg_unlock(&s->late_lock);
	if (!room) {
		vg_event__interrupt(event);
		return;
	}
	atomic_fetch_add(&s->late_word, 1);
	vg_futex_wake(&s->late_word, 1);
}

void vg_fault__interrupt(struct vg_queue *q, uint64_t index, uint32_t event)
{
	struct vg_fault_state *s = state(VG_FAULT_AT_INTERRUPT);
	struct subject o = {VG_FAULT_AT_INTERRUPT, q->gpu, q, index, NULL, 0, 0, 0};
	const struct vg_fault_rule *r;
	int i = -1;

	if (s) {
		o.time = vg_gpu_now(q->gpu);
		i = due_rule(s, &o);
	}
	if (i < 0) {
		vg_event__interrupt(event);
		return;
	}
	r = &s->rules[i];
	log_fault(s, r, q->gpu, q, index, o.time, event);
	if (r->kind == VG_FAULT_LATE_INTERRUPT)
		deliver_later(s, vg_now() + r->by_ns, event);
}

/* ---- calls ---- */

int vg_fault__call(int kind, int gpu, uint64_t bytes)
{
	struct vg_fault_state *s = state(VG_FAULT_AT_CALL);
	struct subject o = {VG_FAULT_AT_CALL, gpu, NULL, 0, NULL, 0, kind, bytes};
	int i;

	if (!s)
		return 0;
	if (o.gpu < 0)
		o.gpu = 0; /* it is about no GPU in particular */
	o.time = vg_gpu_now(o.gpu);
	i = due_rule(s, &o);
	if (i < 0)
		return 0;
	log_fault(s, &s->rules[i], o.gpu, NULL, 0, o.time, bytes);
	return kind == VG_FAULT_CREATE_EVENT ? -ENOSPC : -ENOMEM;
}

bool vg_fault__gpu_lost(int gpu)
{
	struct vg_fault_state *s = state(VG_FAULT_AT_PACKET);

	return s && gpu >= 0 && gpu < VG_MAX_GPUS && atomic_load(&s->lost[gpu]);
}
