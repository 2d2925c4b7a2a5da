// SPDX-License-Identifier: MIT
/*
 * The application's operations on signals: a store to a doorbell submits, and
 * what is about to happen to a signal ends what its stamps could still tell.
 */
#include "capture/sources/hsa/hsa.h"

bool wt_signal__is_doorbell(hsa_signal signal)
{
	int64_t kind = ((const struct wt_signal *)signal.handle)->kind;

	return kind == AMD_SIGNAL_DOORBELL || kind == AMD_SIGNAL_LEGACY_DOORBELL;
}

static void signal_store(hsa_signal signal, int64_t value, hsa_signal_store_fn *original)
{
	if (wt_signal__is_doorbell(signal)) {
		const struct wt_signal *doorbell = (const struct wt_signal *)signal.handle;
		struct wt_vq *vq = wt_vq__find((const struct hsa_queue *)doorbell->queue_ptr);

		if (vq && !vq->proxied) {
			uint64_t rung = atomic_load_explicit(&vq->rung, memory_order_relaxed);

			while ((uint64_t)value + 1 > rung &&
				!atomic_compare_exchange_weak_explicit(&vq->rung, &rung,
					(uint64_t)value + 1, memory_order_relaxed,
					memory_order_relaxed))
				;
			wt_vq__ring(vq);
			return;
		}
	} else if (wt_hsa__here()) {
		wt_pending__store(signal.handle);
	}
	original(signal, value);
}

#define SIGNAL_STORE(name)                                                                   \
	static void name(hsa_signal signal, int64_t value)                                   \
	{                                                                                    \
		signal_store(signal, value, CORE(hsa_##name, hsa_signal_store_fn));          \
	}
SIGNAL_STORE(signal_store_relaxed)
SIGNAL_STORE(signal_store_screlease)

#define SILENT_STORE(name)                                                                   \
	static void name(hsa_signal signal, int64_t value)                                   \
	{                                                                                    \
		if (wt_hsa__here())                                                          \
			wt_pending__store(signal.handle);                                    \
		CORE(hsa_##name, hsa_signal_store_fn)(signal, value);                        \
	}
SILENT_STORE(signal_silent_store_relaxed)
SILENT_STORE(signal_silent_store_screlease)

/*
 * The application learns that something is done: what it knows of a copy must
 * be in the trace, should it die the next moment.
 */
#define SIGNAL_LOAD(name)                                                                    \
	static int64_t name(hsa_signal signal)                                               \
	{                                                                                    \
		int64_t value = CORE(hsa_##name, hsa_signal_load_fn)(signal);                \
                                                                                             \
		if (wt_unlikely(wt_pending__copies()) && value <= 0)                         \
			wt_pending__look(signal.handle);                              \
		return value;                                                                \
	}
SIGNAL_LOAD(signal_load_relaxed)
SIGNAL_LOAD(signal_load_scacquire)

#define SIGNAL_WAIT(name)                                                                    \
	static int64_t name(hsa_signal signal, uint32_t condition, int64_t compare,          \
		uint64_t timeout, uint32_t how)                                              \
	{                                                                                    \
		int64_t value = CORE(hsa_##name, hsa_signal_wait_fn)(signal, condition,      \
			compare, timeout, how);                                              \
                                                                                             \
		if (wt_unlikely(wt_pending__copies()) && value <= 0)                         \
			wt_pending__look(signal.handle);                              \
		return value;                                                                \
	}
SIGNAL_WAIT(signal_wait_relaxed)
SIGNAL_WAIT(signal_wait_scacquire)

static hsa_status signal_destroy(hsa_signal signal)
{
	/* a signal that is being read right now is not freed at all */
	if (wt_hsa__here() && !wt_pending__part(signal.handle))
		return HSA_OK;
	return CORE(hsa_signal_destroy, hsa_signal_destroy_fn)(signal);
}

void wt_signals__install(struct hsa_table *core)
{
	static const struct wt_replaced replaced[] = {
		{HSA_CORE_hsa_signal_destroy, (void *)signal_destroy},
		{HSA_CORE_hsa_signal_load_relaxed, (void *)signal_load_relaxed},
		{HSA_CORE_hsa_signal_load_scacquire, (void *)signal_load_scacquire},
		{HSA_CORE_hsa_signal_wait_relaxed, (void *)signal_wait_relaxed},
		{HSA_CORE_hsa_signal_wait_scacquire, (void *)signal_wait_scacquire},
		{HSA_CORE_hsa_signal_store_relaxed, (void *)signal_store_relaxed},
		{HSA_CORE_hsa_signal_store_screlease, (void *)signal_store_screlease},
		{HSA_CORE_hsa_signal_silent_store_relaxed, (void *)signal_silent_store_relaxed},
		{HSA_CORE_hsa_signal_silent_store_screlease, (void *)signal_silent_store_screlease},
	};

	wt_hsa__replace_core(core, replaced, sizeof(replaced) / sizeof(*replaced));
}
