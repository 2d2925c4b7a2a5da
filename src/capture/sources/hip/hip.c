// SPDX-License-Identifier: MIT
#include "capture/sources/hip/hip.h"

static_assert(WT_HIP_CNT <= WT_RING_LEFT_OUT, "room for counts by function");

/* What makes or ends something is kept while recording is off. */
static bool follows(uint32_t api)
{
	enum wt_api_class class = wt_hip_functions[api].class;

	return class == WT_API_CLASS_ALLOC || class == WT_API_CLASS_CREATE ||
	       class == WT_API_CLASS_DESTROY;
}

static bool records_calls(void)
{
	return wt_process.settings.hip != WT_HIP_OFF && wt_process.settings.want & WT_WANT_HIP;
}

void wt_call__begin(struct wt_call *call, uint32_t stream)
{
	struct wt_tls *tls = call->tls;
	struct wt_ring_shared *shared = tls->thread->ring.shared;

	tls->stream = stream;
	tls->in_graph = call->api == WT_HIP_hipGraphLaunch ||
			call->api == WT_HIP_hipGraphLaunch_spt;
	call->stream = stream;
	tls->call_cnt++;
	tls->in_call = (uint16_t)(1 + call->api);
	call->off = wt_off();
	call->corr = 0;
	call->start = 0;
	if (call->off && !follows(call->api))
		return;
	if (records_calls())
		call->corr = WT_CORR((uint64_t)tls->thread->index, tls->call_cnt);
	tls->corr = call->off ? 0 : call->corr;
	call->start = wt_now();
	/* what the thread is in, should it never come back */
	if (call->corr) {
		atomic_store_explicit(&shared->call_api, call->api, memory_order_relaxed);
		atomic_store_explicit(&shared->call_corr, call->corr, memory_order_relaxed);
		atomic_store_explicit(&shared->call_start_tsc, call->start, memory_order_release);
	}
}

static bool wanted(uint32_t api, hip_error ret)
{
	enum wt_api_class class = wt_hip_functions[api].class;

	if (wt_process.settings.hip == WT_HIP_OFF || !(wt_process.settings.want & WT_WANT_HIP))
		return false;
	if (class == WT_API_CLASS_ALLOC && !(wt_process.settings.want & WT_WANT_MEM))
		return false;
	if (class < WT_API_CLASS_QUERY || wt_process.settings.hip == WT_HIP_ALL)
		return true;
	return ret && ret != HIP_NOT_READY;
}

struct wt_rec_call *wt_call__end(struct wt_call *call, hip_error ret, uint16_t type, uint32_t bytes)
{
	struct wt_tls *tls = call->tls;
	struct wt_rec_call *rec = NULL;
	uint64_t end = call->start ? wt_now() : 0;

	tls->corr = 0;
	tls->stream = 0;
	tls->in_graph = 0;
	tls->in_call = 0;
	/* stopped, or forked in the middle of the call: the ring may not be ours any more */
	if (!wt_recording_now())
		return NULL;
	if (call->corr)
		atomic_store_explicit(&tls->thread->ring.shared->call_start_tsc, 0,
			memory_order_relaxed);
	if (call->off && (!call->corr || ret))
		return NULL;
	if (wanted(call->api, ret))
		rec = wt_ring__reserve(&tls->thread->ring, bytes);
	else if (!call->off)
		wt_call__leave_out(tls, call->api);
	if (rec)
		*rec = (struct wt_rec_call){
			.rec = {type, (uint16_t)(bytes / 8),
				call->api | (call->off ? WT_REC_OFF : 0)},
			.start_tsc = call->start,
			.end_tsc = end,
			.corr = call->corr,
			.ret = ret,
			.stream = call->stream,
		};
	return rec;
}

void wt_call__commit(struct wt_call *call, uint32_t bytes)
{
	wt_ring__commit(&call->tls->thread->ring, bytes);
}
