// SPDX-License-Identifier: MIT
/*
 * Hand-made segments → rows.
 *
 * long file: whatever is built from segments, and what writes those by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "attribute/blit.h"
#include "base/err.h"
#include "collect/build.h"
#include "collect/segment.h"
#include "core/record.h"

#define MS 1000000ull
#define S  1000000000ull

static char segment[64], output[64];
static struct wt_segment_writer writer;
static struct wt_build_stats stats;
static uint64_t definitions, calls; /* positions in the rings */
static uint64_t limits[16];         /* behind each clock sample, as the collector gives them */
static unsigned limit_cnt;

static int set_up(void **state)
{
	(void)state;
	snprintf(segment, sizeof(segment), "/tmp/wt-build-%d.wtseg", (int)getpid());
	snprintf(output, sizeof(output), "/tmp/wt-build-%d.db", (int)getpid());
	unlink(segment);
	unlink(output);
	definitions = calls = limit_cnt = 0;
	return wt_segment__create(&writer, segment, 0xabc, 1 * S, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	wt_segment__close(&writer);
	unlink(segment);
	unlink(output);
	return 0;
}

/* ---- what goes in --------------------------------------------------------------- */

static void clock_sample(uint64_t tsc, uint64_t ns)
{
	struct wt_clock_sample sample = {tsc, ns, ns - 5 * S, ns + 1000 * S, 50};

	wt_segment__add(&writer, WT_FRAME_CLOCK, UINT32_MAX, 0, 0, &sample, sizeof(sample));
	wt_segment__flush(&writer);
	limits[limit_cnt++ % 16] = writer.written;
}

static void process(uint32_t number, enum wt_cpu_clock cpu_clock)
{
	static struct wt_frame_process frame;
	struct wt_process_shared shared = {.pid = 100 + (int)number,
		.parent_pid = 99 + (int)number,
		.start_ticks = 7,
		.joined_ns = 2 * S,
		.cpu_clock = cpu_clock,
		.image = "/bin/app",
		.command = "app",
		.host = "host"};

	memcpy(frame.shared, &shared, sizeof(shared));
	wt_segment__add(&writer, WT_FRAME_PROCESS, number, 0, 0, &frame, sizeof(frame));
}

static void ring_record(
	uint32_t ring, uint64_t *position, void *rec, size_t bytes, const char *text)
{
	char whole[512] = "";
	size_t length = text ? (strlen(text) + 7) & ~7ul : 0;

	memcpy(whole, rec, bytes);
	((struct wt_rec *)(void *)whole)->size8 = (uint16_t)((bytes + length) / 8);
	if (text)
		memcpy(whole + bytes, text, strlen(text));
	wt_segment__add(&writer, WT_FRAME_RING, 0, ring, *position, whole, bytes + length);
	*position += bytes + length;
}

static void define(void *rec, size_t bytes, const char *text)
{
	ring_record(WT_FRAME_DEFINITIONS, &definitions, rec, bytes, text);
}

static void device(void)
{
	struct wt_rec_device rec = {
		.rec = {WT_REC_DEVICE, 0, 0}, .uuid = 5, .arch = "gfx90a", .name = "GPU"};

	define(&rec, sizeof(rec), NULL);
}

static void gpu_clock(uint64_t ticks, uint64_t ns)
{
	struct wt_rec_gpu_clock rec = {
		.rec = {WT_REC_GPU_CLOCK, 0, 0}, .ticks = ticks, .ns = ns, .taken_ns = ns};

	define(&rec, sizeof(rec), NULL);
}

static void symbol(uint64_t object, uint64_t executable, uint32_t born, const char *name)
{
	struct wt_rec_symbol rec = {.rec = {WT_REC_SYMBOL, 0, born},
		.kernel_object = object,
		.executable = executable,
		.name_bytes = (uint32_t)strlen(name)};

	define(&rec, sizeof(rec), name);
}

static void symbols_end(uint64_t executable, uint32_t dead)
{
	struct wt_rec_symbols_end rec = {
		.rec = {WT_REC_SYMBOLS_END, 0, dead}, .executable = executable};

	define(&rec, sizeof(rec), NULL);
}

static void call(uint64_t corr, uint64_t start, uint64_t end)
{
	struct wt_rec_call rec = {
		.rec = {WT_REC_CALL, 0, 0}, .start_tsc = start, .end_tsc = end, .corr = corr};

	ring_record(0, &calls, &rec, sizeof(rec), NULL);
}

static void op(uint64_t index, uint64_t corr, uint64_t object, uint32_t generation, uint64_t start,
	uint64_t end, enum wt_op_state op_state)
{
	struct {
		struct wt_frame_ops head;
		struct wt_op_raw op;
	} frame = {.head = {.queue = 0, .device = 0, .capacity = 64}};
	union wt_slot_word word = {.state = WT_SLOT_SUBMITTED,
		.kind = WT_SLOT_DISPATCH,
		.flags = WT_SLOT_TIMED,
		.untimed = op_state == WT_OP_UNTIMED ? WT_LOST_TIME_NOT_STAMPED : 0};

	frame.op.slot.word = word.raw;
	frame.op.slot.corr = corr;
	frame.op.slot.kernel_object = object;
	frame.op.slot.code_generation = generation;
	frame.op.slot.private_dwords = WT_SLOT_PRIVATE_UNKNOWN;
	frame.op.slot.grid[0] = 64;
	frame.op.index = index;
	frame.op.start_ticks = start;
	frame.op.end_ticks = end;
	frame.op.state = op_state;
	wt_segment__add(&writer, WT_FRAME_OPS, 0, 0, 0, &frame, sizeof(frame));
}

/* By a kernel whose arguments were read. */
static void moves(uint64_t index, uint64_t corr, uint64_t object, uint64_t dst, uint64_t src,
	uint64_t bytes, uint64_t start)
{
	struct {
		struct wt_frame_ops head;
		struct wt_op_raw op;
	} frame = {.head = {.queue = 0, .device = 0, .capacity = 64}};
	union wt_slot_word word = {.state = WT_SLOT_SUBMITTED,
		.kind = WT_SLOT_DISPATCH,
		.flags = WT_SLOT_TIMED | WT_SLOT_MOVES};

	frame.op.slot = (struct wt_slot){.word = word.raw,
		.corr = corr,
		.kernel_object = object,
		.code_generation = 1,
		.moves = {.dst = dst, .src = src, .bytes = bytes}};
	frame.op.index = index;
	frame.op.start_ticks = start;
	frame.op.end_ticks = start + 1;
	frame.op.state = WT_OP_DONE;
	wt_segment__add(&writer, WT_FRAME_OPS, 0, 0, 0, &frame, sizeof(frame));
}

static void process_end(uint64_t lost_calls)
{
	struct wt_frame_process_end end = {.ended_ns = 9 * S, .exit_kind = WT_EXIT_KILLED};

	end.lost[WT_LOST_CALL_NO_RING] = lost_calls;
	end.ring_dropped = 2;
	wt_segment__add(&writer, WT_FRAME_PROCESS_END, 0, 0, 0, &end, sizeof(end));
}

/* The usual: a CPU clock that is BOOTTIME, a GPU whose tick is 10 ns. */
static void usual(void)
{
	clock_sample(1 * S, 1 * S);
	process(0, WT_CPU_CLOCK_BOOTTIME);
	device();
	gpu_clock(S / 10, 1 * S);
	gpu_clock(5 * S / 10, 5 * S);
}

/* ---- what comes out -------------------------------------------------------------- */

static sqlite3 *db;

static void build(uint64_t step)
{
	struct wt_build_options options = {.segment = segment, .output = output};
	struct wt_err *err = NULL;
	struct wt_build *b;
	int rc;

	wt_segment__flush(&writer);
	assert_int_equal(wt_build__open(&b, &options, &err), 0);
	/* in steps as the live thread does, and the rest */
	for (unsigned i = 0; step && i < limit_cnt; i++) {
		do {
			rc = wt_build__advance(b, limits[i], step, &err);
		} while (rc == 1);
		assert_int_equal(rc, 0);
	}
	assert_int_equal(wt_build__advance(b, UINT64_MAX, 0, &err), 0);
	assert_int_equal(wt_build__close(b, &stats, &err), 0);
	assert_int_equal(sqlite3_open_v2(output, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
}

static void done(void)
{
	sqlite3_close(db);
	db = NULL;
}

static int64_t number(const char *format, ...)
{
	char sql[1024];
	sqlite3_stmt *statement;
	va_list args;
	int64_t value;

	va_start(args, format);
	vsnprintf(sql, sizeof(sql), format, args);
	va_end(args);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	value = sqlite3_step(statement) == SQLITE_ROW &&
				sqlite3_column_type(statement, 0) != SQLITE_NULL
			? sqlite3_column_int64(statement, 0)
			: -1;
	sqlite3_finalize(statement);
	return value;
}

static void expect_name(int packet, const char *want)
{
	char sql[400];
	sqlite3_stmt *statement;

	snprintf(sql, sizeof(sql),
		"SELECT s.string FROM wt_op o JOIN wt_shape sh ON sh.id = o.shape_id LEFT JOIN "
		"wt_symbol y ON y.id = sh.symbol_id LEFT JOIN wt_string s ON s.id = y.name_id "
		"WHERE o.packet = %d",
		packet);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	if (want)
		assert_string_equal((const char *)sqlite3_column_text(statement, 0), want);
	else
		assert_int_equal(sqlite3_column_type(statement, 0), SQLITE_NULL);
	sqlite3_finalize(statement);
}

#define START "SELECT o.start + r.origin_ns FROM wt_op o, wt_run r WHERE o.packet = %d"
#define KIND  "SELECT sh.kind FROM wt_op o JOIN wt_shape sh ON sh.id = o.shape_id WHERE packet = %d"
#define BYTES "SELECT c.bytes FROM wt_op o LEFT JOIN wt_copy c ON c.id = o.id WHERE packet = %d"

/* `pair`: "NAME=VALUE" */
static void setting(uint32_t kind, const char *pair, uint32_t whole_bytes)
{
	struct wt_rec_setting rec = {.rec = {WT_REC_SETTING, 0, kind}};

	rec.name_bytes = (uint32_t)strcspn(pair, "=");
	rec.value_bytes = (uint32_t)strlen(pair) - rec.name_bytes - 1;
	rec.whole_bytes = whole_bytes ? whole_bytes : rec.value_bytes;
	define(&rec, sizeof(rec), pair);
}

static void settings_told(uint32_t cnt)
{
	struct wt_rec_setting rec = {.rec = {WT_REC_SETTING, 0, WT_SETTING_TOLD}, .number = cnt};

	define(&rec, sizeof(rec), NULL);
}

/* One of two GPUs; with `divided` a part of a card. */
static void one_of_two(uint32_t index, const char *divided, uint32_t partition)
{
	struct wt_rec_device rec = {.rec = {WT_REC_DEVICE, 0, index},
		.uuid = 0xa0 + index,
		.node = index,
		.bdf = 0x4100,
		.domain = 0,
		.xcc_cnt = UINT32_MAX,
		.asic_revision = 0,
		.arch = "gfx942",
		.isa = "gfx942:sramecc+:xnack-",
		.index = index,
		.shown_cnt = 2,
		.partition = partition};

	snprintf(rec.uuid_text, sizeof(rec.uuid_text), "GPU-%016x", 0xa0 + index);
	snprintf(rec.compute_partition, sizeof(rec.compute_partition), "%s", divided);
	define(&rec, sizeof(rec), NULL);
}

#define ORDINAL "SELECT hip_ordinal FROM wt_device WHERE number = %d"
#define PART    "SELECT partition FROM wt_device WHERE number = %d"

/* ---- tests ------------------------------------------------------------------------- */

/* TSC of 2 GHz, then 2.001; a GPU that drifts. Pairs come after the events they bracket. */
static void test_clocks(void **state)
{
	(void)state;
	for (uint64_t step = 0; step < 1000; step += 200) {
		clock_sample(1000 * S, 1 * S);
		process(0, WT_CPU_CLOCK_TSC);
		device();
		gpu_clock(100 * S, 1 * S);
		call(WT_CORR(1ull, 1), 1000 * S + 100 * MS, 1000 * S + 200 * MS);
		op(0, WT_CORR(1ull, 1), 1, 1, 100 * S + 5 * MS, 100 * S + 6 * MS, WT_OP_DONE);
		clock_sample(1002 * S, 2 * S);
		op(1, WT_CORR(1ull, 2), 1, 1, 100 * S + 15 * MS, 100 * S + 16 * MS, WT_OP_DONE);
		call(WT_CORR(1ull, 2), 1002 * S + 1000500 * 1000, 1002 * S + 1000500 * 1000 + 2001);
		gpu_clock(100 * S + 10 * MS, 1 * S + 100 * MS);
		clock_sample(1004 * S + 1 * MS, 3 * S);
		gpu_clock(100 * S + 20 * MS, 1 * S + 200 * MS + 10000);
		clock_sample(1006 * S + 2 * MS, 4 * S);
		process_end(0);
		build(step);
		assert_int_equal(number("SELECT start + (SELECT origin_ns FROM wt_run) FROM wt_api "
					"ORDER BY start LIMIT 1"),
			1 * S + 50 * MS);
		assert_int_equal(
			number("SELECT duration FROM wt_api ORDER BY start LIMIT 1"), 50 * MS);
		assert_int_equal(number("SELECT start + (SELECT origin_ns FROM wt_run) FROM wt_api "
					"ORDER BY start DESC LIMIT 1"),
			2 * S + 500 * MS);
		assert_int_equal(
			number("SELECT duration FROM wt_api ORDER BY start DESC LIMIT 1"), 1000);
		assert_int_equal(number(START, 0), 1 * S + 50 * MS);
		assert_int_equal(number(START, 1), 1 * S + 150 * MS + 5000);
		done();
		tear_down(NULL);
		set_up(NULL);
	}
}

static void test_one_gpu_pair(void **state)
{
	(void)state;
	clock_sample(1 * S, 1 * S);
	process(0, WT_CPU_CLOCK_BOOTTIME);
	gpu_clock(S / 10, 1 * S);
	op(0, 0, 1, 1, S / 10 + 5, S / 10 + 6, WT_OP_DONE);
	process_end(0);
	build(0);
	assert_int_equal(number("SELECT start FROM wt_op"), -1);
	assert_int_equal(number("SELECT count FROM wt_lost WHERE cause = 'time.no-clock'"), 1);
	done();
}

/* An address that is used again after its module was unloaded; symbols that come late. */
static void test_generations(void **state)
{
	(void)state;
	usual();
	symbol(0x100, 1, 1, "first.kd");
	op(0, 0, 0x100, 1, S / 10, S / 10 + 1, WT_OP_DONE);
	op(1, 0, 0x100, 2, S / 10, S / 10 + 1, WT_OP_DONE);
	op(2, 0, 0x100, 3, S / 10, S / 10 + 1, WT_OP_DONE); /* unloaded, not yet used again */
	op(3, 0, 0x100, 4, S / 10, S / 10 + 1, WT_OP_DONE);
	op(4, 0, 0x200, 4, S / 10, S / 10 + 1, WT_OP_DONE); /* nobody named it */
	op(5, 0, 0x100, 0, S / 10, S / 10 + 1, WT_OP_DONE); /* before it was born */
	symbols_end(1, 3);
	symbol(0x100, 2, 4, "second.kd");
	op(6, 0, 0x100, 5, S / 10, S / 10 + 1, WT_OP_DONE);
	symbols_end(2, 6);
	process_end(0);
	build(0);
	expect_name(0, "first.kd");
	expect_name(1, "first.kd");
	expect_name(2, NULL);
	expect_name(3, "second.kd");
	expect_name(4, NULL);
	expect_name(5, NULL);
	expect_name(6, "second.kd");
	done();
}

/* Raw correlations of four threads, 40 bits of count → small ids, the call and its operation alike.
 */
static void test_dense(void **state)
{
	(void)state;
	usual();
	for (uint64_t i = 1; i <= 3000; i++) {
		uint64_t corr = WT_CORR(1 + i % 4, i % 4 == 3 ? (1ull << 39) + i / 4 : 1 + i / 4);

		call(corr, 2 * S + i, 2 * S + i + 1);
		op(i, corr, 0x100, 1, S / 10 + i, S / 10 + i + 1, WT_OP_DONE);
	}
	process_end(0);
	build(0);
	assert_int_equal(stats.call_cnt, 3000);
	assert_int_equal(number("SELECT count(*) FROM wt_api"), 3000);
	assert_int_equal(number("SELECT count(*) FROM wt_op o JOIN wt_api a ON a.id = o.api_id "
				"WHERE o.packet = a.start - (SELECT 2000000000 - origin_ns FROM "
				"wt_run)"),
		3000);
	assert_true(number("SELECT max(id) FROM wt_api") < 3000 + 5 * 256);
	assert_int_equal(stats.attributed_cnt, 3000);
	done();
}

static void test_in_flight_and_losses(void **state)
{
	struct wt_frame_call_open open = {
		.api = 0, .thread_index = 1, .start_tsc = 4 * S, .corr = WT_CORR(1ull, 2)};

	(void)state;
	usual();
	call(WT_CORR(1ull, 1), 3 * S, 3 * S + 5);
	op(0, WT_CORR(1ull, 1), 0x100, 1, S / 10, S / 10 + 1, WT_OP_DONE);
	op(1, WT_CORR(1ull, 2), 0x100, 1, 0, 0, WT_OP_IN_FLIGHT);
	op(2, WT_CORR(1ull, 2), 0x100, 1, 0, 0, WT_OP_UNTIMED);
	wt_segment__add(&writer, WT_FRAME_CALL_OPEN, 0, 0, 0, &open, sizeof(open));
	wt_segment__add(&writer, WT_FRAME_CALL_OPEN, 0, 0, 0, &open, sizeof(open));
	process_end(3);
	build(0);
	assert_int_equal(stats.in_flight_cnt, 1);
	assert_int_equal(stats.untimed_cnt, 1);
	assert_int_equal(stats.op_cnt, 3);
	assert_int_equal(stats.lost_cnt, 5);
	assert_int_equal(stats.call_cnt, 2);
	assert_int_equal(number("SELECT count FROM wt_lost WHERE cause = 'call.no-ring'"), 3);
	assert_int_equal(number("SELECT count FROM wt_lost WHERE cause = 'call.ring-full'"), 2);
	assert_int_equal(number("SELECT count FROM wt_lost WHERE cause = 'time.not-stamped'"), 1);
	assert_int_equal(number("SELECT s.in_flight FROM wt_op o JOIN wt_state s ON s.id = "
				"o.state_id WHERE packet = 1"),
		1);
	assert_int_equal(number("SELECT count(*) FROM wt_api WHERE duration IS NULL"), 1);
	/* the operation of the call that never came back names it */
	assert_int_equal(number("SELECT count(*) FROM wt_op o JOIN wt_api a ON a.id = o.api_id "
				"WHERE a.duration IS NULL"),
		2);
	assert_int_equal(number("SELECT exit_kind FROM wt_process"), WT_EXIT_KILLED);
	done();
}

static void sdma(uint64_t copy_number, uint64_t bytes)
{
	struct wt_rec_sdma rec = {
		.rec = {WT_REC_SDMA, 0, 0}, .number = copy_number, .bytes = bytes};

	define(&rec, sizeof(rec), NULL);
}

static void sdma_end(uint64_t copy_number, uint32_t why, uint64_t start_ns, uint64_t end_ns)
{
	struct wt_rec_sdma_end rec = {.rec = {WT_REC_SDMA_END, 0, why},
		.number = copy_number,
		.start_ns = start_ns,
		.end_ns = end_ns};

	define(&rec, sizeof(rec), NULL);
}

/* DMA copies: made, made without times, never made, and still open at the end. */
static void test_dma(void **state)
{
	(void)state;
	usual();
	sdma(1, 100);
	sdma(2, 200);
	sdma(3, 300);
	sdma(4, 400);
	sdma_end(2, WT_LOST_TIME_SHARED_SIGNAL, 0, 0);
	sdma_end(3, WT_SDMA_REFUSED, 0, 0);
	sdma_end(1, 0, S, S + 50);
	process_end(3);
	build(0);
	assert_int_equal(stats.copy_cnt, 3);
	assert_int_equal(stats.in_flight_cnt, 1);
	assert_int_equal(number("SELECT count(*) FROM wt_copy WHERE bytes = 300"), 0);
	assert_int_equal(number("SELECT o.duration FROM wt_op o JOIN wt_copy c USING (id)"
				" WHERE c.bytes = 100"),
		50);
	assert_int_equal(number("SELECT count FROM wt_lost WHERE cause = 'time.shared-signal'"), 1);
	done();
}

static void place(uint32_t owner, uint64_t address, uint64_t bytes, uint64_t from_ns)
{
	struct wt_rec_place rec = {.rec = {WT_REC_PLACE, 0, owner},
		.address = address,
		.bytes = bytes,
		.from_ns = from_ns};

	define(&rec, sizeof(rec), NULL);
}

static void place_end(uint64_t address, uint64_t end_ns)
{
	struct wt_rec_place_end rec = {
		.rec = {WT_REC_PLACE_END, 0, 0}, .address = address, .end_ns = end_ns};

	define(&rec, sizeof(rec), NULL);
}

#define AT(column)                                                                                 \
	"SELECT coalesce(c." column ", -1) FROM wt_op o LEFT JOIN wt_copy c ON c.id = o.id"        \
	" WHERE packet = %d"
#define COPY_KIND                                                                                  \
	"SELECT coalesce(s.copy_kind, -1) FROM wt_op o JOIN wt_shape s ON s.id = o.shape_id"       \
	" WHERE packet = %d"

/* Blit kernels: bytes and addresses from their arguments, kind by whose memory that is. */
static void test_blits(void **state)
{
	(void)state;
	usual();
	symbol(0xc0, 1, 1, "__amd_rocclr_copyBufferAligned.kd");
	symbol(0xf0, 1, 1, "__amd_rocclr_fillBufferAligned");
	symbol(0x100, 1, 1, "mine.kd");
	place(0, 0x10000, 0x1000, 0);
	place(WT_PLACE_HOST, 0x20000, 0x1000, 0);
	/* the GPU's until 2 s, the host's from 3 s on */
	place(0, 0x30000, 0x1000, 0);
	place_end(0x30000, 2 * S);
	place(WT_PLACE_HOST, 0x30000, 0x800, 3 * S);
	moves(0, WT_CORR(1ull, 1), 0xc0, 0x10010, 0x10ff0, 16, S / 10);
	moves(1, WT_CORR(1ull, 1), 0xc0, 0x10010, 0x20000, 4096, S / 10);
	moves(2, 0, 0xc0, 0x20fff, 0x10000, 1, S / 10);
	moves(3, 0, 0xf0, 0x10100, 0, 64, S / 10);
	/* nobody's */
	moves(4, 0, 0xc0, 0x11000, 0x10000, 8, S / 10);
	/* its arguments are not known */
	op(5, 0, 0xc0, 1, S / 10, S / 10 + 1, WT_OP_DONE);
	op(6, WT_CORR(1ull, 5), 0x100, 1, S / 10, S / 10 + 1, WT_OP_DONE);
	moves(7, 0, 0xc0, 0x30000, 0x10000, 8, S / 10);
	moves(8, 0, 0xc0, 0x30000, 0x10000, 8, S / 10 * 4);
	/* before and after: nobody's then */
	moves(9, 0, 0xc0, 0x30000, 0x10000, 8, S / 10 * 5 / 2);
	/* of both lives, but the shorter one is the host's */
	moves(10, 0, 0xc0, 0x30900, 0x10000, 8, S / 10 * 4);
	process_end(0);
	build(0);
	assert_int_equal(number(KIND, 0), WT_OP_COPY);
	assert_int_equal(number(BYTES, 0), 16);
	assert_int_equal(number(AT("dst"), 0), 0x10010);
	assert_int_equal(number(AT("src"), 0), 0x10ff0);
	assert_int_equal(number(AT("dst_device_id"), 0), 1);
	assert_int_equal(number(AT("src_device_id"), 0), 1);
	assert_int_equal(number(COPY_KIND, 0), WT_COPY_DTOD);
	assert_int_equal(number(COPY_KIND, 1), WT_COPY_HTOD);
	assert_int_equal(number(AT("src_device_id"), 1), 0);
	assert_int_equal(number(COPY_KIND, 2), WT_COPY_DTOH);
	assert_int_equal(number(KIND, 3), WT_OP_FILL);
	assert_int_equal(number(COPY_KIND, 3), WT_COPY_FILL);
	assert_int_equal(number(BYTES, 3), 64);
	assert_int_equal(number(AT("src"), 3), -1);
	assert_int_equal(number(AT("src_device_id"), 3), -1);
	assert_int_equal(number(COPY_KIND, 4), -1);
	assert_int_equal(number(AT("dst_device_id"), 4), -1);
	assert_int_equal(number(AT("src_device_id"), 4), 1);
	assert_int_equal(number(KIND, 5), WT_OP_COPY);
	assert_int_equal(number(BYTES, 5), -1);
	assert_int_equal(number(COPY_KIND, 5), -1);
	assert_int_equal(number(KIND, 6), WT_OP_KERNEL);
	assert_int_equal(number(COPY_KIND, 7), WT_COPY_DTOD);
	assert_int_equal(number(COPY_KIND, 8), WT_COPY_DTOH);
	assert_int_equal(number(COPY_KIND, 9), -1);
	assert_int_equal(number(COPY_KIND, 10), WT_COPY_DTOD);
	assert_int_equal(stats.copy_cnt, 10);
	assert_int_equal(stats.op_cnt, 1);
	done();
}

/* A copy by DMA: by the addresses; by the agents where those are nobody's. */
static void test_dma_places(void **state)
{
	struct wt_rec_sdma rec = {.rec = {WT_REC_SDMA, 0, 0},
		.dst_device = 0,
		.src_device = WT_PLACE_HOST,
		.dst = 0x10000,
		.src = 0x20000,
		.bytes = 5};

	(void)state;
	usual();
	place(1, 0x10000, 0x1000, 0);
	rec.number = 1;
	define(&rec, sizeof(rec), NULL);
	sdma_end(1, 0, S, S + 5);
	rec.number = 2;
	rec.bytes = 6;
	rec.src = 0x10008;
	rec.dst = 0x40000;
	define(&rec, sizeof(rec), NULL);
	sdma_end(2, 0, S, S + 5);
	process_end(0);
	build(0);
#define OF                                                                                         \
	"FROM wt_copy c JOIN wt_op o USING (id) JOIN wt_shape s ON s.id = o.shape_id WHERE bytes " \
	"= "
	assert_int_equal(number("SELECT s.copy_kind " OF "5"), WT_COPY_HTOD);
	assert_int_equal(number("SELECT src_device_id " OF "5"), 0);
	assert_int_equal(number("SELECT s.copy_kind " OF "6"), WT_COPY_PEER);
	done();
}

static void memory(uint64_t corr, uint64_t start, uint64_t end, uint32_t kind, uint64_t address,
	uint64_t bytes)
{
	struct wt_rec_memory rec = {.call = {.rec = {WT_REC_CALL_MEMORY, 0, 0},
					    .start_tsc = start,
					    .end_tsc = end,
					    .corr = corr},
		.address = address,
		.bytes = bytes,
		.kind = kind,
		.device = 0};

	ring_record(0, &calls, &rec, sizeof(rec), NULL);
}

/* Allocations and frees, whose records come in any order and whose calls overlap. */
static void test_memory(void **state)
{
	const uint64_t t = 3 * S;

	(void)state;
	usual();
	/* thread 2 takes at once what thread 1 gives back; its records come first */
	memory(WT_CORR(2ull, 1), t + 25, t + 40, WT_MEMORY_DEVICE, 0x1000, 200);
	memory(WT_CORR(2ull, 2), t + 50, t + 60, WT_MEMORY_FREE, 0x1000, 0);
	memory(WT_CORR(1ull, 1), t + 10, t + 20, WT_MEMORY_DEVICE, 0x1000, 100);
	memory(WT_CORR(1ull, 2), t + 22, t + 45, WT_MEMORY_FREE, 0x1000, 0);
	/* not seen allocated; freed twice */
	memory(WT_CORR(1ull, 3), t + 46, t + 47, WT_MEMORY_FREE, 0x2000, 0);
	memory(WT_CORR(1ull, 4), t + 48, t + 49, WT_MEMORY_FREE, 0x2000, 0);
	/* its free was not seen; then one that lives on */
	memory(WT_CORR(1ull, 5), t + 50, t + 51, WT_MEMORY_HOST, 0x3000, 300);
	memory(WT_CORR(1ull, 6), t + 52, t + 53, WT_MEMORY_HOST, 0x3000, 301);
	/* what a reset ends, and what it does not */
	memory(WT_CORR(1ull, 7), t + 54, t + 55, WT_MEMORY_DEVICE, 0x4000, 400);
	memory(WT_CORR(1ull, 8), t + 60, t + 61, WT_MEMORY_RESET, 0, 0);
	memory(WT_CORR(1ull, 9), t + 62, t + 63, WT_MEMORY_DEVICE, 0x4000, 401);
	/* nothing came of these */
	memory(WT_CORR(1ull, 10), t + 64, t + 65, WT_MEMORY_DEVICE, 0, 500);
	memory(WT_CORR(1ull, 11), t + 66, t + 67, 99, 0x5000, 500);
	process_end(0);
	build(0);
#define OF_BYTES " FROM wt_memory WHERE bytes = %d"
	assert_int_equal(number("SELECT count(*) FROM wt_memory"), 8);
	assert_int_equal(number("SELECT freed - allocated" OF_BYTES, 100), 2);
	assert_int_equal(number("SELECT freed - allocated" OF_BYTES, 200), 10);
	assert_int_equal(number("SELECT count(*) FROM wt_memory WHERE allocated IS NULL AND kind IS"
				" NULL AND address = 0x2000 AND freed_id IS NOT NULL"),
		2);
	assert_int_equal(number("SELECT freed IS NULL AND device_id = 0" OF_BYTES, 300), 1);
	assert_int_equal(number("SELECT freed IS NULL" OF_BYTES, 301), 1);
	assert_int_equal(number("SELECT freed - allocated" OF_BYTES, 400), 5);
	assert_int_equal(number("SELECT freed IS NULL AND device_id = 1" OF_BYTES, 401), 1);
	assert_int_equal(number("SELECT max(bytes) FROM memory_use WHERE device_id = 1"), 401);
	done();
}

/* A hostile writer: more places than anybody has, all at once. */
static void test_many_places(void **state)
{
	(void)state;
	usual();
	symbol(0xc0, 1, 1, "__amd_rocclr_copyBuffer");
	for (uint64_t i = 0; i < 20000; i++)
		place(i % 3 ? 0 : WT_PLACE_HOST, i * 0x1000, 0x1000, 0);
	place(0, UINT64_MAX - 5, UINT64_MAX, 0);
	place_end(12345, S);
	moves(0, 0, 0xc0, 0x4000 + 5, 0x7000, 3, S / 10);
	moves(1, 0, 0xc0, 0x3000 + 5, 0x7000, 3, S / 10);
	process_end(0);
	build(0);
	assert_int_equal(number(COPY_KIND, 0), WT_COPY_DTOD);
	assert_int_equal(number(AT("dst_device_id"), 1), 0);
	done();
}

/* recover may write bytes that the segment has already: they count once. */
static void test_twice(void **state)
{
	uint64_t before;

	(void)state;
	usual();
	call(WT_CORR(1ull, 1), 3 * S, 3 * S + 5);
	before = calls;
	call(WT_CORR(1ull, 2), 3 * S, 3 * S + 5);
	calls = before;
	call(WT_CORR(1ull, 2), 3 * S, 3 * S + 5);
	call(WT_CORR(1ull, 3), 3 * S, 3 * S + 5);
	process_end(0);
	process_end(50);
	build(0);
	assert_int_equal(stats.call_cnt, 3);
	assert_int_equal(stats.lost_cnt, 2);
	done();
}

/* A device that is described again must not cost the trace: the first description counts. */
static void test_device_twice(void **state)
{
	(void)state;
	usual();
	device();
	process_end(0);
	build(0);
	assert_int_equal(number("SELECT count(*) FROM wt_device"), 1);
	done();
}

static void test_no_clock(void **state)
{
	struct wt_build_options options = {.segment = segment, .output = output};
	struct wt_err *err = NULL;
	struct wt_build *b;

	(void)state;
	process(0, WT_CPU_CLOCK_TSC);
	wt_segment__flush(&writer);
	assert_int_equal(wt_build__open(&b, &options, &err), 0);
	assert_int_equal(wt_build__advance(b, UINT64_MAX, 0, &err), 0);
	assert_true(wt_build__close(b, &stats, &err) < 0);
	assert_non_null(strstr(wt_err__text(err), segment));
	wt_err__free(err);
	assert_int_equal(access(output, F_OK), -1);
}

static void test_blit_names(void **state)
{
	(void)state;
	assert_int_equal(wt_blit__of_kernel("__amd_rocclr_copyBufferRectAligned.kd"), WT_BLIT_COPY);
	assert_int_equal(wt_blit__of_kernel("__amd_rocclr_fillBufferAligned2D.kd"), WT_BLIT_FILL);
	assert_int_equal(wt_blit__of_kernel("__amd_rocclr_streamOpsWrite"), WT_BLIT_NONE);
	assert_int_equal(wt_blit__of_kernel("copyBuffer"), WT_BLIT_NONE);
	assert_int_equal(wt_blit__of_kernel(""), WT_BLIT_NONE);
}

static void test_settings(void **state)
{
	(void)state;
	usual();
	setting(WT_SETTING_VARIABLE, "HIP_X=1", 0);
	setting(WT_SETTING_VARIABLE, "HSA_EMPTY=", 0);
	setting(WT_SETTING_VARIABLE, "XLA_FLAGS=--a", 5000);
	setting(WT_SETTING_VARIABLE, "HIP_BYTES=a\xff\xc3\xa4", 0);
	settings_told(4);
	setting(WT_SETTING_VERSION, "kfd=1.17", 0);
	setting(WT_SETTING_VERSION, "hip=", 0);
	/* nonsense is left out */
	setting(3, "HIP_Y=1", 0);
	setting(WT_SETTING_VARIABLE, "=1", 0);
	define(&(struct wt_rec_setting){.rec = {WT_REC_SETTING, 0, WT_SETTING_VARIABLE},
		       .name_bytes = 2,
		       .value_bytes = UINT32_MAX},
		sizeof(struct wt_rec_setting), "AB=");
	process_end(0);
	build(0);
	assert_int_equal(number("SELECT count(*) FROM wt_setting WHERE process_id = 1"), 4);
	assert_int_equal(number("SELECT count(*) FROM wt_setting WHERE name = 'HIP_X'"
				" AND value = '1' AND whole_bytes IS NULL"),
		1);
	assert_int_equal(
		number("SELECT count(*) FROM wt_setting WHERE name = 'HSA_EMPTY' AND value = ''"),
		1);
	assert_int_equal(number("SELECT whole_bytes FROM wt_setting WHERE value = '--a'"), 5000);
	assert_int_equal(number("SELECT count(*) FROM wt_setting WHERE name = 'HIP_BYTES'"
				" AND value = 'a\\xff\xc3\xa4'"),
		1);
	assert_int_equal(number("SELECT count(*) FROM wt_version"), 2);
	assert_int_equal(
		number("SELECT count(*) FROM wt_version WHERE part = 'kfd' AND version = '1.17'"),
		1);
	assert_int_equal(
		number("SELECT count(*) FROM wt_version WHERE part = 'hip' AND version IS NULL"),
		1);
	assert_int_equal(number("SELECT count(*) FROM wt_status WHERE text LIKE 'records that make "
				"no%%: 3'"),
		1);
	done();
}

/* Certain only when HIP is there and everything has come that numbers its GPUs. */
static void test_hip_ordinals(void **state)
{
	static const struct {
		const char *variable;
		uint32_t told, whole_bytes;
		const char *hip;
		bool second;
		int ordinals[2];
	} cases[] = {
		{"HIP_VISIBLE_DEVICES=1,0", 1, 0, "hip=5.2.1", true, {1, 0}},
		{"CUDA_VISIBLE_DEVICES=1", 1, 0, "hip=5.2.1", true, {-1, 0}},
		{"GPU_DEVICE_ORDINAL=1,0", 1, 0, "hip=5.2.1", true, {0, 1}},
		{"HIP_VISIBLE_DEVICES=", 1, 0, "hip=5.2.1", true, {0, 1}},
		{"HIP_VISIBLE_DEVICES=", 1, 0, "hip=7.2.1", true, {-1, -1}},
		{"HIP_X=", 1, 0, "hip=", true, {0, 1}},
		{"HIP_VISIBLE_DEVICES=GPU-00000000000000a1", 1, 0, "hip=7.2.1", true, {-1, 0}},
		{"HIP_VISIBLE_DEVICES=GPU-00000000000000a1", 1, 0, "hip=", true, {-1, -1}},
		/* a variable is missing, or cut; no HIP; a GPU is missing */
		{"HIP_VISIBLE_DEVICES=1,0", 2, 0, "hip=5.2.1", true, {-1, -1}},
		{"HIP_X=1,0", 1, 0, "hsa=1", true, {-1, -1}},
		{"HIP_X=1,0", 1, 0, "hip=5.2.1", false, {-1, -1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		clock_sample(1 * S, 1 * S);
		process(0, WT_CPU_CLOCK_BOOTTIME);
		setting(WT_SETTING_VARIABLE, cases[i].variable, cases[i].whole_bytes);
		settings_told(cases[i].told);
		setting(WT_SETTING_VERSION, cases[i].hip, 0);
		one_of_two(0, "", UINT32_MAX);
		if (cases[i].second)
			one_of_two(1, "", UINT32_MAX);
		process_end(0);
		build(0);
		for (int k = 0; k < 2; k++)
			if (number(ORDINAL, k) != cases[i].ordinals[k])
				fail_msg("%s, %s: GPU %d", cases[i].variable, cases[i].hip, k);
		done();
		tear_down(NULL);
		set_up(NULL);
	}
}

static void test_device_facts(void **state)
{
	(void)state;
	clock_sample(1 * S, 1 * S);
	process(0, WT_CPU_CLOCK_BOOTTIME);
	one_of_two(0, "CPX", 0);
	one_of_two(1, "CPX", 5);
	process_end(0);
	build(0);
	assert_int_equal(number(PART, 0), 0);
	assert_int_equal(number(PART, 1), 5);
	assert_int_equal(number("SELECT node FROM wt_device WHERE number = 0"), 0);
	assert_int_equal(number("SELECT asic_revision FROM wt_device WHERE number = 0"), 0);
	/* not told, or what cannot be 0 */
	assert_int_equal(
		number("SELECT count(*) FROM wt_device WHERE xccs IS NULL AND compute_units"
		       " IS NULL AND memory_bytes IS NULL AND hip_ordinal IS NULL"),
		2);
	assert_int_equal(number("SELECT count(DISTINCT uuid_text) FROM wt_device"), 2);
	done();
	tear_down(NULL);
	set_up(NULL);
	/* a driver that does not number the parts */
	clock_sample(1 * S, 1 * S);
	process(0, WT_CPU_CLOCK_BOOTTIME);
	one_of_two(0, "CPX", 0);
	one_of_two(1, "CPX", 0);
	process_end(0);
	build(0);
	assert_int_equal(number(PART, 0), -1);
	assert_int_equal(number(PART, 1), -1);
	done();
	tear_down(NULL);
	set_up(NULL);
	clock_sample(1 * S, 1 * S);
	process(0, WT_CPU_CLOCK_BOOTTIME);
	one_of_two(0, "SPX", 0);
	process_end(0);
	build(0);
	assert_int_equal(number(PART, 0), 0);
	done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_clocks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_gpu_pair, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_generations, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dense, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_in_flight_and_losses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dma, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_blits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dma_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_device_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_clock, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_settings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hip_ordinals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_device_facts, set_up, tear_down),
		cmocka_unit_test(test_blit_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
