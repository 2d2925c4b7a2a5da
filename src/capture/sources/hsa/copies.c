// SPDX-License-Identifier: MIT
/*
 * Copies by hsa_amd_memory_async_copy*: by a DMA engine or by a kernel on a
 * queue of the runtime's own. The completion signal stays the caller's; the
 * runtime is asked for the copy's times once it has fired.
 */
#include "capture/sources/hsa/hsa.h"

static struct wt_rec_sdma describe(void *dst, hsa_agent dst_agent, const void *src,
	hsa_agent src_agent, uint64_t bytes)
{
	const struct wt_device *to = wt_device__of(dst_agent), *from = wt_device__of(src_agent);
	struct wt_producer who =
		wt_producer(atomic_load_explicit(&wt_hsa.device_cnt, memory_order_relaxed));

	return (struct wt_rec_sdma){
		.rec = {.type = WT_REC_SDMA, .id = from ? from->number : to ? to->number : 0},
		.corr = who.corr,
		.stream = who.stream,
		.dst = (uint64_t)dst,
		.src = (uint64_t)src,
		.bytes = bytes,
		.dst_device = to ? to->number : WT_PLACE_HOST,
		.src_device = from ? from->number : WT_PLACE_HOST,
	};
}

static bool wanted(hsa_signal completion)
{
	if (!completion.handle || !wt_hsa__recording() ||
		!(wt_process.settings.want & WT_WANT_COPY))
		return false;
	if (wt_off()) {
		atomic_fetch_add_explicit(
			&wt_process.shared->off_copies, 1, memory_order_relaxed);
		wt_pending__use(completion.handle, NULL, 0);
		return false;
	}
	wt_devices__find();
	return true;
}

/*
 * Tells of the copy before the runtime is asked for it: it may be made, and the
 * process killed, before that call returns. Gives the signal's value.
 */
static int64_t announce(hsa_signal completion, struct wt_rec_sdma *rec)
{
	static _Atomic uint64_t number_cnt;

	/* its last use ends here, whatever it was */
	wt_pending__part(completion.handle);
	rec->number = 1 + atomic_fetch_add_explicit(&number_cnt, 1, memory_order_relaxed);
	wt_define(&rec->rec, sizeof(*rec), NULL, 0);
	return atomic_load_explicit(&((struct wt_signal *)completion.handle)->value,
		memory_order_relaxed);
}

/* The runtime took the copy, or refused: see to its times, or say why there are none. */
static void follow(hsa_signal completion, const struct wt_rec_sdma *rec, int64_t before,
	hsa_status status)
{
	struct wt_pending what = {
		.kind = WT_PENDING_COPY,
		.old_end = (uint64_t)before,
		.copy_number = rec->number,
		.device = rec->rec.id,
	};
	struct wt_rec_sdma_end end = {
		.rec = {.type = WT_REC_SDMA_END, .id = WT_SDMA_REFUSED},
		.number = rec->number,
	};
	enum wt_lost why;

	if (status == HSA_OK) {
		wt_keeper__start();
		/* a count above 1: other copies share the signal, its times would be anybody's */
		why = WT_LOST_TIME_SHARED_SIGNAL;
		if (before == 1 && wt_pending__add(completion.handle, &what, &why))
			return;
		if (before != 1)
			wt_pending__use(completion.handle, NULL, 0);
		end.rec.id = why;
	}
	wt_define(&end.rec, sizeof(end), NULL, 0);
}

/* A copy that is followed, from before the runtime is asked for it to after. */
struct followed {
	bool follows;
	struct wt_rec_sdma rec;
	int64_t before;
};

static void begin(struct followed *f, void *dst, hsa_agent dst_agent, const void *src,
	hsa_agent src_agent, size_t bytes, hsa_signal completion)
{
	f->follows = wanted(completion);
	if (!f->follows)
		return;
	f->rec = describe(dst, dst_agent, src, src_agent, bytes);
	f->before = announce(completion, &f->rec);
}

static void end(struct followed *f, hsa_signal completion, hsa_status status)
{
	if (f->follows)
		follow(completion, &f->rec, f->before, status);
}

static hsa_status async_copy(void *dst, hsa_agent dst_agent, const void *src, hsa_agent src_agent,
	size_t bytes, uint32_t dep_cnt, const hsa_signal *deps, hsa_signal completion)
{
	struct followed copy;
	hsa_status status;

	begin(&copy, dst, dst_agent, src, src_agent, bytes, completion);
	status = AMD(hsa_amd_memory_async_copy, hsa_amd_memory_async_copy_fn)(dst, dst_agent, src,
		src_agent, bytes, dep_cnt, deps, completion);
	end(&copy, completion, status);
	return status;
}

static hsa_amd_memory_async_copy_on_engine_fn *original_on_engine;

static hsa_status async_copy_on_engine(void *dst, hsa_agent dst_agent, const void *src,
	hsa_agent src_agent, size_t bytes, uint32_t dep_cnt, const hsa_signal *deps,
	hsa_signal completion, uint32_t engine, bool force)
{
	struct followed copy;
	hsa_status status;

	begin(&copy, dst, dst_agent, src, src_agent, bytes, completion);
	status = original_on_engine(dst, dst_agent, src, src_agent, bytes, dep_cnt, deps, completion,
		engine, force);
	end(&copy, completion, status);
	return status;
}

/* Directions of a rectangle copy (hsa_amd_copy_direction_t): 1 from the host, 2 to it. */
enum { FROM_HOST = 1, TO_HOST = 2 };

/* The first byte of a box. */
static void *first_byte(const struct hsa_pitched_ptr *box, const struct hsa_dim3 *at)
{
	return (char *)box->base + at->z * box->slice + at->y * box->pitch + at->x;
}

static hsa_status async_copy_rect(const struct hsa_pitched_ptr *dst, const struct hsa_dim3 *dst_at,
	const struct hsa_pitched_ptr *src, const struct hsa_dim3 *src_at,
	const struct hsa_dim3 *range, hsa_agent agent, uint32_t direction, uint32_t dep_cnt,
	const hsa_signal *deps, hsa_signal completion)
{
	struct followed copy = {
		.follows = dst && dst_at && src && src_at && range && wanted(completion)};
	hsa_status status;

	if (copy.follows) {
		copy.rec = describe(first_byte(dst, dst_at), agent, first_byte(src, src_at), agent,
			(uint64_t)range->x * range->y * range->z);
		if (direction == FROM_HOST)
			copy.rec.src_device = WT_PLACE_HOST;
		if (direction == TO_HOST)
			copy.rec.dst_device = WT_PLACE_HOST;
		copy.before = announce(completion, &copy.rec);
	}
	status = AMD(hsa_amd_memory_async_copy_rect, hsa_amd_memory_async_copy_rect_fn)(dst, dst_at,
		src, src_at, range, agent, direction, dep_cnt, deps, completion);
	end(&copy, completion, status);
	return status;
}

/* We need the copies' times: an application that turns them off gets them all the same. */
static hsa_status async_copy_enable(bool enable)
{
	if (!enable && wt_hsa__recording())
		return HSA_OK;
	return AMD(hsa_amd_profiling_async_copy_enable, hsa_amd_profiling_async_copy_enable_fn)(
		enable);
}

void wt_copies__install(struct hsa_table *amd)
{
	wt_hsa__replace_amd(amd, HSA_AMD_hsa_amd_memory_async_copy, (void *)async_copy);
	wt_hsa__replace_amd(amd, HSA_AMD_hsa_amd_memory_async_copy_rect, (void *)async_copy_rect);
	wt_hsa__replace_amd(amd, HSA_AMD_hsa_amd_profiling_async_copy_enable,
		(void *)async_copy_enable);
	if (amd->version.minor >= HSA_AMD_INSERTED_SIZE && amd->fn[HSA_AMD_ON_ENGINE]) {
		original_on_engine = (hsa_amd_memory_async_copy_on_engine_fn *)amd->fn[HSA_AMD_ON_ENGINE];
		amd->fn[HSA_AMD_ON_ENGINE] = (void *)async_copy_on_engine;
	}
}
