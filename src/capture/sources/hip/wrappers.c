// SPDX-License-Identifier: MIT
/* The exported HIP functions: generated from core/hip_api.def by the preprocessor. */
#include <string.h>

#include "capture/sources/hip/hip.h"

/* ---- stream column: statements around the call ------------------------------ */
#define BEFORE_S(handle)		    wt_call__begin(&call, wt_streams__number(call.tls, handle))
#define AFTER_S(handle)
#define BEFORE_S_SPT(handle)                                                                 \
	wt_call__begin(&call, wt_streams__number_spt(call.tls, handle))
#define AFTER_S_SPT(handle)
#define BEFORE_S_NONE			    wt_call__begin(&call, 0)
#define AFTER_S_NONE
#define BEFORE_S_NEW(out, flags, priority)  wt_call__begin(&call, 0)
#define AFTER_S_NEW(out, flags, priority)                                                    \
	if (!ret && out)                                                                     \
	call.stream = wt_streams__created(call.tls, *(out), flags, priority)
#define BEFORE_S_END(handle)		    wt_call__begin(&call, wt_streams__end(call.tls, handle))
#define AFTER_S_END(handle)                                                                  \
	if (ret)                                                                             \
		wt_streams__restore(handle, call.stream);                                    \
	else                                                                                 \
		wt_streams__ended(call.stream)
#define BEFORE_S_FUNCTION(out, name)	    wt_call__begin(&call, 0)
#define AFTER_S_FUNCTION(out, name)                                                          \
	if (!ret && out)                                                                     \
	*(out) = wt_hip__exchanged(*(out), name)
#define BEFORE_S_DEVICE(number)		    wt_call__begin(&call, 0)
#define AFTER_S_DEVICE(number)                                                               \
	if (!ret)                                                                            \
	call.tls->device = (uint32_t)(number)
#define BEFORE_S_DEVICE_TOLD(out)	    wt_call__begin(&call, 0)
#define AFTER_S_DEVICE_TOLD(out)                                                             \
	if (!ret && out)                                                                     \
	call.tls->device = (uint32_t)*(out)
#define BEFORE_S_DEVICE_LOST		    wt_call__begin(&call, 0)
#define AFTER_S_DEVICE_LOST                                                                  \
	if (!ret)                                                                            \
	call.tls->device = WT_DEVICE_NOT_KNOWN
#define BEFORE_S_RESET			    wt_call__begin(&call, 0)
#define AFTER_S_RESET                                                                        \
	if (!ret)                                                                            \
	wt_workers__reset()

/* ---- record column ------------------------------------------------------------ */
#define U64(x)	 ((uint64_t)(x))
#define OUT(ptr) (ret || !(ptr) ? 0 : U64(*(ptr)))
#define FIELD(ptr, field) (ret || !(ptr) ? 0 : U64((ptr)->field))

#define REC_PLAIN                                                                            \
	struct wt_rec_call *rec = wt_call__end(&call, ret, WT_REC_CALL, sizeof(*rec));       \
	if (rec)                                                                             \
	wt_call__commit(&call, sizeof(*rec))

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
#define REC_LAUNCH_BY(config_, function_, gx_, gy_, gz_, bx_, by_, bz_, shared_)             \
	REC_LAUNCH(function_, (config_) ? gx_ : 0, (config_) ? gy_ : 0, (config_) ? gz_ : 0, \
		(config_) ? bx_ : 0, (config_) ? by_ : 0, (config_) ? bz_ : 0,               \
		(config_) ? shared_ : 0)

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
/* where it begins: each of the two could be host, device or an array, by numbers that changed */
#define REC_COPY_2D(p)                                                                       \
	REC_COPY(WT_UNKNOWN, WT_UNKNOWN, (p) ? (p)->width * (p)->height : WT_UNKNOWN,        \
		WT_COPY_UNKNOWN)
#define PLACE(array, ptr, at)                                                                \
	((array) ? WT_UNKNOWN                                                                \
		 : U64((ptr).memory) + ((at).z * (ptr).height + (at).y) * (ptr).pitch + (at).x)
#define VOLUME(p)                                                                            \
	((p)->src_array || (p)->dst_array                                                    \
			? WT_UNKNOWN                                                         \
			: (p)->extent.width * (p)->extent.height * (p)->extent.depth)
#define REC_COPY_3D_KIND(p, kind_)                                                           \
	REC_COPY((p) ? PLACE((p)->dst_array, (p)->dst, (p)->dst_at) : WT_UNKNOWN,            \
		(p) ? PLACE((p)->src_array, (p)->src, (p)->src_at) : WT_UNKNOWN,             \
		(p) ? VOLUME(p) : WT_UNKNOWN, kind_)
#define REC_COPY_3D(p)	    REC_COPY_3D_KIND(p, (p) ? (p)->kind : WT_COPY_UNKNOWN)
#define REC_COPY_3D_PEER(p) REC_COPY_3D_KIND(p, WT_COPY_DTOD)

#define REC_MEMORY(address_, bytes_, kind_)                                                  \
	struct wt_rec_memory *rec = (struct wt_rec_memory *)wt_call__end(&call, ret,         \
		WT_REC_CALL_MEMORY, sizeof(*rec));                                           \
	if (rec) {                                                                           \
		rec->address = U64(address_);                                                \
		rec->bytes = U64(bytes_);                                                    \
		rec->kind = kind_;                                                           \
		rec->device = wt_streams__device(call.tls->device);                          \
		wt_call__commit(&call, sizeof(*rec));                                        \
	}

#define EACH_1(a)		U64(a)
#define EACH_2(a, ...)		U64(a), EACH_1(__VA_ARGS__)
#define EACH_3(a, ...)		U64(a), EACH_2(__VA_ARGS__)
#define EACH_4(a, ...)		U64(a), EACH_3(__VA_ARGS__)
#define EACH_5(a, ...)		U64(a), EACH_4(__VA_ARGS__)
#define EACH_6(a, ...)		U64(a), EACH_5(__VA_ARGS__)
#define PICK(a, b, c, d, e, f, each, ...) each
#define EACH(...)                                                                            \
	PICK(__VA_ARGS__, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2, EACH_1, )(__VA_ARGS__)
#define REC_ARGS(...)                                                                        \
	const uint64_t numbers[] = {EACH(__VA_ARGS__)};                                       \
	struct wt_rec_args *rec = (struct wt_rec_args *)wt_call__end(&call, ret,             \
		WT_REC_CALL_ARGS, sizeof(*rec) + sizeof(numbers));                            \
	if (rec) {                                                                           \
		memcpy(rec->value, numbers, sizeof(numbers));                                  \
		wt_call__commit(&call, sizeof(*rec) + sizeof(numbers));                       \
	}

/* ---- the functions -------------------------------------------------------------- */

/*
 * A runtime that lacks the function: nobody who asked whether it is there gets
 * here, so this only has to be harmless.
 */
#define HIP(name, class, params, args, stream, record)                                       \
	LINKAGE hip_error NAME(name) params;                                                 \
	LINKAGE hip_error NAME(name) params                                                  \
	{                                                                                    \
		hip_error(*real) params = (hip_error(*) params)ORIGINAL(WT_HIP_##name);      \
		struct wt_call call;                                                         \
		hip_error ret;                                                               \
                                                                                             \
		if (wt_unlikely(!real))                                                      \
			return HIP_NOT_SUPPORTED;                                            \
		if (!wt_call__enter(&call, WT_HIP_##name, WT_API_CLASS_##class))             \
			return real args;                                                    \
		BEFORE_##stream;                                                             \
		ret = real args;                                                             \
		AFTER_##stream;                                                              \
		REC_##record;                                                                \
		wt_call__leave(&call);                                                       \
		return ret;                                                                  \
	}

#define HIP_VALUE(type, name, class, params, args, stream, record)                           \
	LINKAGE type NAME(name) params;                                                      \
	LINKAGE type NAME(name) params                                                       \
	{                                                                                    \
		type(*real) params = (type(*) params)ORIGINAL(WT_HIP_##name);                \
		struct wt_call call;                                                         \
		const hip_error ret = 0;                                                     \
		type value;                                                                  \
                                                                                             \
		if (wt_unlikely(!real)) {                                                    \
			memset(&value, 0, sizeof(value));                                    \
			return value;                                                        \
		}                                                                            \
		if (!wt_call__enter(&call, WT_HIP_##name, WT_API_CLASS_##class))             \
			return real args;                                                    \
		BEFORE_##stream;                                                             \
		value = real args;                                                           \
		REC_##record;                                                                \
		wt_call__leave(&call);                                                       \
		return value;                                                                \
	}

#define HIP_VOID(name, class, params, args, stream, record)                                  \
	LINKAGE void NAME(name) params;                                                      \
	LINKAGE void NAME(name) params                                                       \
	{                                                                                    \
		void(*real) params = (void(*) params)ORIGINAL(WT_HIP_##name);                \
		struct wt_call call;                                                         \
		const hip_error ret = 0;                                                     \
                                                                                             \
		if (wt_unlikely(!real))                                                      \
			return;                                                              \
		if (!wt_call__enter(&call, WT_HIP_##name, WT_API_CLASS_##class)) {           \
			real args;                                                           \
			return;                                                              \
		}                                                                            \
		BEFORE_##stream;                                                             \
		real args;                                                                   \
		REC_##record;                                                                \
		wt_call__leave(&call);                                                       \
	}

/* Exported, for symbols. */
#define LINKAGE	     wt_export
#define NAME(name)   name
#define ORIGINAL(id) wt_hip__original(id)
#include "core/hip_api.def"
#undef LINKAGE
#undef NAME
#undef ORIGINAL

/* For the table that the runtime gives away: table.c. */
#define LINKAGE	     static
#define NAME(name)   table_##name
#define ORIGINAL(id) wt_hip__table_original(id)
#include "core/hip_api.def"
#undef HIP
#undef HIP_VALUE
#undef HIP_VOID

/* The same functions under their C++ names. */
#define MANGLED(name, symbol)                                                                \
	extern __typeof__(name) mangled_##name __asm__(#symbol)                              \
		__attribute__((alias(#name), visibility("default")));
#include "capture/sources/hip/mangled.def"
#undef MANGLED

#define HIP(name, class, params, args, stream, record)		   NAME(name),
#define HIP_VALUE(type, name, class, params, args, stream, record) NAME(name),
#define HIP_VOID(name, class, params, args, stream, record)	   NAME(name),

#undef NAME
#define NAME(name) (void *)name
static void *const wrappers[WT_HIP_CNT] = {
#include "core/hip_api.def"
};

#undef NAME
#define NAME(name) (void *)table_##name
static void *const table_wrappers[WT_HIP_CNT] = {
#include "core/hip_api.def"
};

void *wt_hip__wrapper(const char *name)
{
	unsigned id = wt_hip_api__find(wt_hip__plain_name(name));

	return id < WT_HIP_CNT ? wrappers[id] : NULL;
}

void *wt_hip__table_wrapper(enum wt_hip_api id)
{
	return table_wrappers[id];
}
