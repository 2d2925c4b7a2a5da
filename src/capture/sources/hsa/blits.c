// SPDX-License-Identifier: MIT
/*
 * Kernels of the HIP runtime's own that copy and fill (__amd_rocclr_*): what
 * one of them moves is told by its arguments alone, also where a call makes
 * several, or a graph. They lie in memory that the CPU has just written, and
 * are read when the packet is handed on; no others are.
 *
 * The arguments changed between releases. A kernel's are read only where its
 * code object's metadata lists exactly the arguments that are known: names,
 * offsets and sizes. Where it lists others nothing is said.
 */
#include "capture/sources/hsa/hsa.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "__amd_rocclr_"
#define GONE   1ull

struct wt_blit wt_blits[WT_BLITS];

/* ---- what the arguments say: false where that is no number --------------------------- */

static uint64_t u64(const uint8_t *args, unsigned offset)
{
	uint64_t value;

	memcpy(&value, args + offset, sizeof(value));
	return value;
}

static uint32_t u32(const uint8_t *args, unsigned offset)
{
	uint32_t value;

	memcpy(&value, args + offset, sizeof(value));
	return value;
}

static bool times(uint64_t *product, uint64_t by)
{
	return !__builtin_mul_overflow(*product, by, product);
}

/* Units of which the last may be a part: words of 4 bytes, `remain` of the last one. */
static bool copy_words(const uint8_t *args, struct wt_moves *to)
{
	uint64_t words = u64(args, 32), bytes = words ? words - 1 : 0;

	if (!times(&bytes, 4) ||
		__builtin_add_overflow(bytes, words ? u32(args, 40) : 0, &to->bytes))
		return false;
	to->src = u64(args, 0) + u64(args, 16);
	to->dst = u64(args, 8) + u64(args, 24);
	return true;
}

static bool copy_aligned(const uint8_t *args, struct wt_moves *to)
{
	uint64_t unit = u32(args, 40), src = u64(args, 16), dst = u64(args, 24);

	to->bytes = u64(args, 32);
	if (!times(&to->bytes, unit) || !times(&src, unit) || !times(&dst, unit))
		return false;
	to->src = u64(args, 0) + src;
	to->dst = u64(args, 8) + dst;
	return true;
}

static bool copy_bytes(const uint8_t *args, struct wt_moves *to)
{
	*to = (struct wt_moves){.src = u64(args, 0), .dst = u64(args, 8), .bytes = u64(args, 16)};
	return true;
}

/* {row pitch, slice pitch, first, -} of source and target, then {width, rows, slices, unit} */
static bool copy_boxes(const uint8_t *args, uint64_t unit, struct wt_moves *to)
{
	uint64_t src = u64(args, 32 + 16), dst = u64(args, 64 + 16);

	to->bytes = u64(args, 96);
	if (!times(&to->bytes, u64(args, 96 + 8)) || !times(&to->bytes, u64(args, 96 + 16)) ||
		!times(&to->bytes, unit) || !times(&src, unit) || !times(&dst, unit))
		return false;
	to->src = u64(args, 0) + src;
	to->dst = u64(args, 8) + dst;
	return true;
}

static bool copy_rect(const uint8_t *args, struct wt_moves *to)
{
	return copy_boxes(args, 1, to);
}

static bool copy_rect_aligned(const uint8_t *args, struct wt_moves *to)
{
	return copy_boxes(args, u64(args, 96 + 24), to);
}

/* One of four pointers, to units of 1, 2, 4 and 8 bytes; a pattern of so many units. */
static bool fill_typed(const uint8_t *args, uint64_t cnt, struct wt_moves *to)
{
	unsigned which = 0;
	uint64_t first = u64(args, 48);

	while (which < 4 && !u64(args, which * 8))
		which++;
	to->bytes = u32(args, 40);
	if (which == 4 || !times(&to->bytes, 1u << which) || !times(&to->bytes, cnt) ||
		!times(&first, 1u << which))
		return false;
	to->src = 0;
	to->dst = u64(args, which * 8) + first;
	return true;
}

static bool fill_units(const uint8_t *args, struct wt_moves *to)
{
	return fill_typed(args, u64(args, 56), to);
}

static bool fill_rows(const uint8_t *args, struct wt_moves *to)
{
	uint64_t cnt = u64(args, 56);

	return times(&cnt, u64(args, 64)) && fill_typed(args, cnt, to);
}

static bool fill_to_end(const uint8_t *args, struct wt_moves *to)
{
	uint64_t from = u64(args, 0), end = u64(args, 24);

	*to = (struct wt_moves){.dst = from, .bytes = end - from};
	return end >= from;
}

/* ---- which of them a kernel has --------------------------------------------------------- */

#define WORDS "srcOrigin@16:8 dstOrigin@24:8 size@32:8 "
#define BOXES "src@0:8 dst@8:8 srcRect@32:32 dstRect@64:32 size@96:32 "
#define BYTES                                                                                      \
	"src@0:8 dst@8:8 size@16:8 remainder@24:4 aligned_size@28:4 end_ptr@32:8 next_chunk@40:4 "
#define TYPED                                                                                      \
	"bufUChar@0:8 bufUShort@8:8 bufUInt@16:8 bufULong@24:8 pattern@32:8 patternSize@40:4 "     \
	"offset@48:8 "
#define TO_END "buf@0:8 pattern@8:8 pattern_size@16:4 alignment@20:4 end_ptr@24:8 next_chunk@32:4 "

static const struct layout {
	const char *kernel;    /* behind PREFIX */
	const char *arguments; /* as wt_metadata__arguments tells them */
	bool (*read)(const uint8_t *args, struct wt_moves *to);
} layouts[] = {
	{"copyBuffer", "srcI@0:8 dstI@8:8 " WORDS "remain@40:4 ", copy_words},
	{"copyBuffer", BYTES, copy_bytes},
	{"copyBuffer", BYTES "workgroup_size@44:4 ", copy_bytes},
	{"copyBufferAligned", "src@0:8 dst@8:8 " WORDS "alignment@40:4 ", copy_aligned},
	{"copyBufferRect", BOXES, copy_rect},
	{"copyBufferRectAligned", BOXES, copy_rect_aligned},
	{"fillBufferAligned", TYPED "size@56:8 ", fill_units},
	{"fillBufferAligned", TO_END, fill_to_end},
	{"fillBufferAligned", TO_END "workgroup_size@36:4 ", fill_to_end},
	{"fillBufferAligned2D", TYPED "width@56:8 height@64:8 pitch@72:8 ", fill_rows},
};

uint32_t wt_blits__layout(const char *name, size_t length, const struct wt_kernel_facts *facts)
{
	char arguments[512], text[160];
	bool moves = false;

	if (length <= strlen(PREFIX) || memcmp(name, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	name += strlen(PREFIX);
	length -= strlen(PREFIX);
	if (!wt_metadata__arguments(facts, arguments, sizeof(arguments)))
		arguments[0] = 0;
	for (uint32_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		if (strlen(layouts[i].kernel) != length ||
			memcmp(layouts[i].kernel, name, length) != 0)
			continue;
		if (!strcmp(arguments, layouts[i].arguments))
			return i + 1;
		moves = true;
	}
	if (moves) {
		snprintf(text, sizeof(text),
			"what %.*s moves is not told: its arguments are not known", (int)length,
			name);
		wt_define__status("hsa", 1, text);
	}
	return 0;
}

void wt_blits__add(uint32_t layout, uint64_t kernel_object, uint64_t executable)
{
	for (uint32_t i = 0; i < WT_BLIT_PROBES; i++) {
		struct wt_blit *blit = &wt_blits[(wt_blit__place(kernel_object) + i) % WT_BLITS];
		uint64_t seen = atomic_load_explicit(&blit->kernel_object, memory_order_relaxed);

		if (seen && seen != GONE && seen != kernel_object)
			continue;
		blit->layout = layout;
		blit->executable = executable;
		/* release: who finds the kernel finds its layout */
		atomic_store_explicit(&blit->kernel_object, kernel_object, memory_order_release);
		return;
	}
}

static void remove_at(uint32_t at)
{
	if (atomic_load_explicit(&wt_blits[at].kernel_object, memory_order_relaxed) > GONE)
		atomic_store_explicit(&wt_blits[at].kernel_object, GONE, memory_order_relaxed);
}

void wt_blits__remove(uint64_t executable)
{
	for (uint32_t i = 0; i < WT_BLITS; i++)
		if (wt_blits[i].executable == executable)
			remove_at(i);
}

void wt_blits__remove_all(void)
{
	for (uint32_t i = 0; i < WT_BLITS; i++)
		remove_at(i);
}

bool wt_blit__read(const struct wt_blit *blit, const void *arguments, struct wt_moves *to)
{
	if (!arguments || (uintptr_t)arguments % 8)
		return false;
	return layouts[blit->layout - 1].read(arguments, to);
}
