// SPDX-License-Identifier: MIT
/* Two seconds of nonsense in shared memory and in the segment: nothing may crash or run on. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "collect/build.h"
#include "collect/drain.h"
#include "core/clock.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Small numbers, sizes and powers of two are likelier to get past a check. */
static uint64_t nasty(void)
{
	switch (next() % 6) {
	case 0:
		return next() % 16;
	case 1:
		return 1ull << next() % 64;
	case 2:
		return (1ull << next() % 64) - 1;
	case 3:
		return next() % 8192 * 8;
	case 4:
		return UINT64_MAX - next() % 64;
	default:
		return next();
	}
}

static void scribble(void *memory, size_t bytes, unsigned writes)
{
	while (writes--) {
		size_t at = next() % (bytes / 8) * 8;
		uint64_t value = nasty();

		/* heads are where it hurts */
		if (next() % 2)
			at %= 256;
		memcpy((char *)memory + at, &value, sizeof(value));
	}
}

static char path[64];

static void new_writer(struct wt_segment_writer *writer)
{
	unlink(path);
	assert_int_equal(wt_segment__create(writer, path, 1, 1, NULL), 0);
}

static void test_ring(void **state)
{
	size_t bytes = WT_RING_HEADER_BYTES + 8192;
	uint64_t end = wt_clock__boottime_ns() + 600000000;
	struct wt_segment_writer writer;
	struct wt_drain drain = {.writer = &writer};
	void *memory = aligned_alloc(4096, bytes);

	(void)state;
	new_writer(&writer);
	while (wt_clock__boottime_ns() < end) {
		struct wt_ring_source source = {.number = 1};
		struct wt_ring ring;

		memset(memory, 0, bytes);
		wt_ring__init(&ring, memory, 8192, 0, 1);
		scribble(memory, bytes, next() % 4);
		if (wt_ring_reader__open(&source.reader, memory, bytes))
			continue;
		for (int pass = 0; pass < 8; pass++) {
			void *to = wt_ring__reserve(&ring, 40);

			if (to) {
				memset(to, 0, 40);
				((struct wt_rec *)to)->size8 = 5;
				((struct wt_rec *)to)->type = 2;
				wt_ring__commit(&ring, 40);
			}
			scribble(memory, bytes, next() % 3);
			assert_int_equal(wt_drain__ring(&drain, &source), 0);
			assert_int_equal(wt_drain__commit(&drain), 0);
			assert_true(source.reader.capacity <= 8192);
		}
		if (writer.written > 64u << 20) {
			wt_segment__close(&writer);
			new_writer(&writer);
		}
	}
	wt_segment__close(&writer);
	wt_drain__free(&drain);
	free(memory);
}

static void test_slots(void **state)
{
	size_t bytes = wt_slots__file_bytes(64);
	uint64_t end = wt_clock__boottime_ns() + 600000000;
	struct wt_segment_writer writer;
	struct wt_drain drain = {.writer = &writer};
	char *memory = aligned_alloc(4096, (bytes + 4095) & ~4095ul);

	(void)state;
	new_writer(&writer);
	while (wt_clock__boottime_ns() < end) {
		struct wt_slots_shared *shared = (void *)memory;
		struct wt_slots_source source = {.number = 1};

		memset(memory, 0, bytes);
		*shared = (struct wt_slots_shared){.magic = WT_SLOTS_MAGIC,
			.version = 1,
			.capacity = 64,
			.slots_offset = 4096,
			.signals_offset = 4096 + 64 * 64};
		scribble(memory, bytes, next() % 4);
		if (wt_slots_reader__open(&source.reader, memory, bytes))
			continue;
		for (int pass = 0; pass < 8; pass++) {
			uint64_t index = next() % 256;
			union wt_slot_word word = {.lap = (uint32_t)(index / 64),
				.state = WT_SLOT_SUBMITTED,
				.kind = WT_SLOT_DISPATCH,
				.flags = (uint8_t)next()};

			memcpy(memory + 4096 + index % 64 * 64, &word, sizeof(word));
			shared->submitted = next() % 3 ? index + 1 : nasty();
			scribble(memory, bytes, next() % 3);
			assert_int_equal(wt_drain__slots(&drain, &source, next() % 2), 0);
			assert_int_equal(wt_drain__commit(&drain), 0);
		}
		wt_slots_reader__close(&source.reader);
		if (writer.written > 64u << 20) {
			wt_segment__close(&writer);
			new_writer(&writer);
		}
	}
	wt_segment__close(&writer);
	wt_drain__free(&drain);
	free(memory);
}

/* Frames that are whole, of payloads that are not. */
static void test_builder(void **state)
{
	uint64_t end = wt_clock__boottime_ns() + 800000000;
	char output[64];

	(void)state;
	snprintf(output, sizeof(output), "/tmp/wt-hostile-%d.db", (int)getpid());
	while (wt_clock__boottime_ns() < end) {
		struct wt_build_options options = {
			.segment = path, .output = output, .exists = WT_STORE_REPLACE};
		struct wt_segment_writer writer;
		struct wt_clock_sample sample;
		struct wt_build *build;
		struct wt_err *err = NULL;
		static uint64_t words[512];

		new_writer(&writer);
		wt_clock__sample(&sample);
		wt_segment__add(&writer, WT_FRAME_CLOCK, UINT32_MAX, 0, 0, &sample, sizeof(sample));
		for (int i = 0; i < 200; i++) {
			uint32_t number = next() % 3 ? (uint32_t)(next() % 4) : UINT32_MAX;
			size_t bytes = next() % 512 * 8, at = 0;

			for (size_t w = 0; w < 512; w++)
				words[w] = nasty();
			while (at < bytes) {
				struct wt_rec rec = {.type = (uint16_t)(next() % 28),
					.size8 = (uint16_t)(next() % 48), /* a device has 39 */
					.id = (uint32_t)(next() % 8)};

				memcpy((char *)words + at, &rec, sizeof(rec));
				at += rec.size8 ? rec.size8 * 8u : 8;
			}
			wt_segment__add(&writer, (enum wt_frame_type)(1 + next() % 11),
				(uint32_t)(next() % 3), number,
				next() % 4 ? (uint64_t)i * 4096 : nasty(), words, bytes);
		}
		wt_segment__flush(&writer);
		wt_segment__close(&writer);
		assert_int_equal(wt_build__open(&build, &options, &err), 0);
		if (wt_build__advance(build, UINT64_MAX, 0, &err) < 0)
			wt_build__abort(build);
		else
			wt_build__close(build, NULL, &err);
		wt_err__free(err);
	}
	unlink(output);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/wt-hostile-%d.wtseg", (int)getpid());
	if (getenv("WT_SEED"))
		seed = strtoull(getenv("WT_SEED"), NULL, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_builder),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
