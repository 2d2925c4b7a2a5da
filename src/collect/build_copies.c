// SPDX-License-Identifier: MIT
/*
 * Which call asked for what a blit kernel did. The call's record comes when
 * the call returns, which may be after the kernel has ended; and a call can
 * make several kernels, of which none moved all of its bytes. A blit therefore
 * waits until an operation of a later call of the same thread, behind it in
 * the same queue, shows that its call made no more of them there. Then kind,
 * bytes and addresses are taken from the call, if it was a copy or a fill and
 * made this one alone; else they are absent.
 */
#include "collect/build_private.h"

#include <errno.h>
#include <stdlib.h>

/* Of one thread; the oldest give way, without bytes. */
#define WAITING_MAX 1024u

static size_t place_of(uint64_t corr)
{
	/* threads count up from 1 side by side: they must not meet in one place */
	return (corr ^ (corr >> WT_CORR_COUNT_BITS) * 2654435761u) & (WT_BUILD_COPIES - 1);
}

void wt_build__copy_called(struct wt_build_process *process, const struct wt_rec_copy *rec)
{
	if (!process->copies)
		process->copies = calloc(WT_BUILD_COPIES, sizeof(*process->copies));
	if (!process->copies || !rec->call.corr)
		return;
	process->copies[place_of(rec->call.corr)] = (struct wt_build_copy){
		.corr = rec->call.corr,
		.dst = rec->dst,
		.src = rec->src,
		.bytes = rec->bytes,
		.kind = rec->kind,
	};
}

static const struct wt_build_copy *find_copy(const struct wt_build_process *process, uint64_t corr)
{
	const struct wt_build_copy *copy =
		process->copies ? &process->copies[place_of(corr)] : NULL;

	return copy && copy->corr == corr ? copy : NULL;
}

static int write_blit(
	struct wt_build *build, struct wt_build_process *process, struct wt_build_blit *blit)
{
	const struct wt_build_copy *copy = blit->corr ? find_copy(process, blit->corr) : NULL;

	if (copy && (copy->kind == WT_COPY_FILL) == (blit->op.kind == WT_OP_FILL)) {
		blit->op.copy_kind = copy->kind;
		if (!blit->crowded) {
			blit->op.bytes = copy->bytes;
			blit->op.dst = copy->dst;
			blit->op.src = copy->src;
		}
	}
	return wt_build__write_op(build, &blit->op);
}

static int write_first(struct wt_build *build, struct wt_build_process *process,
	struct wt_build_thread *thread, size_t cnt)
{
	size_t left = thread->blits.cnt - cnt;
	int rc = 0;

	for (size_t i = 0; i < cnt && !rc; i++)
		rc = write_blit(build, process, &thread->blits.data[i]);
	for (size_t i = 0; i < left; i++)
		thread->blits.data[i] = thread->blits.data[cnt + i];
	thread->blits.cnt = left;
	return rc;
}

int wt_build__blit(struct wt_build *build, struct wt_build_process *process,
	const struct wt_store_op *op, uint64_t corr)
{
	struct wt_build_blit blit = {.op = *op, .corr = corr, .packet = op->packet};
	struct wt_build_thread *thread;

	/* a graph launch makes many by one call: its record says nothing about this one */
	if (!corr || op->in_graph)
		return wt_build__write_op(build, op);
	thread = wt_build__thread(build, process, (uint32_t)(corr >> WT_CORR_COUNT_BITS));
	if (!thread)
		return -ENOMEM;
	for (size_t i = thread->blits.cnt; i-- > 0;) {
		if (thread->blits.data[i].corr != corr)
			continue;
		thread->blits.data[i].crowded = blit.crowded = true;
	}
	if (wt_vec__push(&thread->blits, blit))
		return -ENOMEM;
	if (thread->blits.cnt <= WAITING_MAX)
		return 0;
	for (size_t i = 0; i < WAITING_MAX / 2; i++)
		thread->blits.data[i].crowded = true;
	return write_first(build, process, thread, WAITING_MAX / 2);
}

int wt_build__blits_before(struct wt_build *build, struct wt_build_process *process,
	uint32_t queue_id, uint64_t packet, uint64_t corr)
{
	uint32_t index = (uint32_t)(corr >> WT_CORR_COUNT_BITS);
	struct wt_build_thread *thread = wt_build__thread(build, process, index);
	size_t kept = 0, cnt;
	int rc = 0;

	if (!thread)
		return -ENOMEM;
	cnt = thread->blits.cnt;
	/*
	 * A call whose record, or a later one of its thread, has not come may
	 * still be running. The oldest is in front: mostly that is all to see.
	 */
	if (!cnt || thread->blits.data[0].corr > thread->last_call)
		return 0;
	for (size_t i = 0; i < cnt; i++) {
		struct wt_build_blit *blit = &thread->blits.data[i];

		if (!rc && blit->op.queue_id == queue_id && blit->packet < packet &&
			blit->corr < corr && blit->corr <= thread->last_call)
			rc = write_blit(build, process, blit);
		else
			thread->blits.data[kept++] = *blit;
	}
	thread->blits.cnt = kept;
	return rc;
}

int wt_build__flush_blits(struct wt_build *build, struct wt_build_process *process)
{
	int rc = 0;

	for (size_t i = 0; i < process->threads.cnt && !rc; i++)
		rc = write_first(build, process, &process->threads.data[i],
			process->threads.data[i].blits.cnt);
	return rc;
}
