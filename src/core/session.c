// SPDX-License-Identifier: MIT
#include "core/session.h"

#include <stdio.h>

static const struct {
	const char *name, *sentence;
} causes[WT_LOST_CNT] = {
	[WT_LOST_NONE] = {"none", "nothing was lost"},
	[WT_LOST_CALL_RING_FULL] = {"call.ring-full",
		"API calls not recorded: the thread's ring was full"},
	[WT_LOST_CALL_NO_RING] = {"call.no-ring",
		"API calls not recorded: no shared memory for the thread's ring"},
	[WT_LOST_DEFINITION_RING_FULL] = {"definition.ring-full",
		"definitions (kernel names, queues, streams) that found no room in time"},
	[WT_LOST_OP_NO_SLOTS] = {"operation.no-slots",
		"operations not recorded: no shared memory for the queue's slot table"},
	[WT_LOST_OP_SLOT_BUSY] = {"operation.slot-busy",
		"operations not recorded: their slot was still in use"},
	[WT_LOST_OP_BYPASSED] = {"operation.bypassed",
		"operations not recorded: submitted past the functions that wavetap sees"},
	[WT_LOST_TIME_SHARED_SIGNAL] = {"time.shared-signal",
		"operations without times: their signal counts several operations"},
	[WT_LOST_TIME_SIGNAL_REARMED] = {"time.signal-rearmed",
		"operations without times: their signal was armed again before it was read"},
	[WT_LOST_TIME_NO_ROOM] = {"time.no-room",
		"operations without times: too many application signals pending"},
	[WT_LOST_TIME_NOT_STAMPED] = {"time.not-stamped",
		"operations without times: complete, but the GPU wrote none"},
	[WT_LOST_TIME_DEPTH] = {"time.depth", "operations without times: left out by --depth"},
	[WT_LOST_TIME_OTHER_TOOL] = {"time.other-tool",
		"operations without times: another tool owns the queue"},
	[WT_LOST_COLLECTOR_GONE] = {"collector.gone",
		"events not recorded: the collector had gone"},
	[WT_LOST_COPY_UNSEEN] = {"copy.unseen",
		"copies whose completion could not be followed"},
	[WT_LOST_TIME_NO_CLOCK] = {"time.no-clock",
		"operations without times: the GPU's clock could not be converted there"},
	[WT_LOST_STREAM_UNNAMED] = {"stream.unnamed",
		"operations of a stream that is not known: their call names none, or not which device's"},
	[WT_LOST_STREAM_HIDDEN] = {"stream.hidden",
		"operations of a stream that is not known: a thread of the runtime submitted them"},
	[WT_LOST_STREAM_OUTSIDE] = {"stream.outside",
		"operations of a stream that is not known: submitted outside of HIP calls"},
	[WT_LOST_CALLER_WORKER] = {"caller.worker",
		"operations whose call is not known: a thread of the runtime submitted them"},
	[WT_LOST_CALLER_OUTSIDE] = {"caller.outside",
		"operations whose call is not known: submitted outside of HIP calls"},
};

const char *wt_lost__name(unsigned cause)
{
	return cause < WT_LOST_CNT ? causes[cause].name : "unknown";
}

const char *wt_lost__sentence(unsigned cause)
{
	return cause < WT_LOST_CNT ? causes[cause].sentence : "a cause that this version does not know";
}

void wt_session__file_name(char name[32], enum wt_file_kind kind, uint32_t process, uint32_t number)
{
	if (kind == WT_FILE_PROCESS)
		snprintf(name, 32, "p%u", process);
	else
		snprintf(name, 32, "%c%u-%u", kind == WT_FILE_RING ? 'r' : 'q', process, number);
}
