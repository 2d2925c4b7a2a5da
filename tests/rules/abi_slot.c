// SPDX-License-Identifier: MIT
/* core/slot.h and the offsets in sources/hsa/abi.h against the distribution's amd_hsa_*.h. */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include "abi.h"
#include "core/slot.h"

int abi__check_slot(void)
{
	int bad = 0;

	bad += abi__same("sizeof amd_signal_t", sizeof(struct wt_signal), sizeof(amd_signal_t));
#define FIELD(ours, theirs)                                                                        \
	bad += abi__same("amd_signal_t." #theirs, offsetof(struct wt_signal, ours),                \
		offsetof(amd_signal_t, theirs))
	FIELD(kind, kind);
	FIELD(value, value);
	FIELD(event_mailbox_ptr, event_mailbox_ptr);
	FIELD(event_id, event_id);
	FIELD(start_ticks, start_ts);
	FIELD(end_ticks, end_ts);
	FIELD(queue_ptr, queue_ptr);
	bad += abi__same("AMD_SIGNAL_KIND_USER", 1, AMD_SIGNAL_KIND_USER);
	return bad;
}

unsigned long abi__queue_write_index(void)
{
	return offsetof(amd_queue_t, write_dispatch_id);
}

unsigned long abi__queue_read_index(void)
{
	return offsetof(amd_queue_t, read_dispatch_id);
}
