// SPDX-License-Identifier: MIT
/* The exported HIP functions: generated from wrappers.def by the preprocessor. */
#include "capture/sources/hip/hip.h"

/* ---- stream column: statements around the call ------------------------------ */
#define BEFORE_S(handle)		    wt_call__begin(&call, wt_streams__number(call.tls, handle))
#define AFTER_S(handle)
#define BEFORE_S_NONE			    wt_call__begin(&call, 0)
#define AFTER_S_NONE
#define BEFORE_S_NEW(out, flags, priority)  wt_call__begin(&call, 0)
#define AFTER_S_NEW(out, flags, priority)                                                    \
	if (!ret && out)                                                                     \
	wt_streams__created(call.tls, *(out), flags, priority)
#define BEFORE_S_END(handle)		    wt_call__begin(&call, wt_streams__end(call.tls, handle))
#define AFTER_S_END(handle)                                                                  \
	if (ret)                                                                             \
	wt_streams__restore(handle, call.stream)
#define BEFORE_S_DEVICE(number)		    wt_call__begin(&call, 0)
#define AFTER_S_DEVICE(number)                                                               \
	if (!ret)                                                                            \
	call.tls->device = (uint32_t)(number)

/* ---- record column ------------------------------------------------------------ */
#define U64(x)	 ((uint64_t)(x))
#define OK(x)	 (ret ? 0 : (x))
#define OUT(ptr) (ret || !(ptr) ? 0 : U64(*(ptr)))

#define REC_LAUNCH(function_, gx_, gy_, gz_, bx_, by_, bz_, shared_)                         \
	struct wt_rec_launch *rec = (struct wt_rec_launch *)wt_call__end(&call, ret,         \
		WT_REC_CALL_LAUNCH, sizeof(*rec));                                           \
	if (rec) {                                                                           \
		rec->function = U64(function_);                                              \
		rec->grid[0] = gx_;                                                          \
		rec->grid[1] = gy_;                                                          \
		rec->grid[2] = gz_;                                                          \
		rec->block[0] = bx_;                                                         \
		rec->block[1] = by_;                                                         \
		rec->block[2] = bz_;                                                         \
		rec->shared_bytes = (uint32_t)(shared_);                                     \
		rec->reserved = 0;                                                           \
		wt_call__commit(&call, sizeof(*rec));                                        \
	}

#define REC_COPY(dst_, src_, bytes_, kind_)                                                  \
	struct wt_rec_copy *rec = (struct wt_rec_copy *)wt_call__end(&call, ret,             \
		WT_REC_CALL_COPY, sizeof(*rec));                                             \
	if (rec) {                                                                           \
		rec->dst = U64(dst_);                                                        \
		rec->src = U64(src_);                                                        \
		rec->bytes = U64(bytes_);                                                    \
		rec->kind = (uint32_t)(kind_);                                               \
		rec->reserved = 0;                                                           \
		wt_call__commit(&call, sizeof(*rec));                                        \
	}

#define REC_OBJECT(object_, value_)                                                          \
	struct wt_rec_object *rec = (struct wt_rec_object *)wt_call__end(&call, ret,         \
		WT_REC_CALL_OBJECT, sizeof(*rec));                                           \
	if (rec) {                                                                           \
		rec->object = U64(object_);                                                  \
		rec->value = U64(value_);                                                    \
		wt_call__commit(&call, sizeof(*rec));                                        \
	}

/* ---- the functions -------------------------------------------------------------- */
#define HIP(name, params, args, stream, record)                                              \
	wt_export hip_error name params;                                                     \
	wt_export hip_error name params                                                      \
	{                                                                                    \
		static void *_Atomic original;                                               \
		hip_error(*real) params = (hip_error(*) params)wt_hip__original(&original,   \
			#name);                                                              \
		struct wt_call call;                                                         \
		hip_error ret;                                                               \
                                                                                             \
		if (!wt_call__enter(&call, WT_HIP_##name))                                   \
			return real args;                                                    \
		BEFORE_##stream;                                                             \
		ret = real args;                                                             \
		AFTER_##stream;                                                              \
		REC_##record;                                                                \
		wt_call__leave(&call);                                                       \
		return ret;                                                                  \
	}

#include "capture/sources/hip/wrappers.def"
