// SPDX-License-Identifier: MIT
/*
 * Damaged traces: bytes changed, pages swapped, the end cut off, values of the
 * wrong type. Every reading command must end with 0 or 1, and say why.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/commands.h"
#include "fuzz.h"
#include "sample.h"

#define PAGE 8192

static char path[64];

static uint8_t *read_file(size_t *bytes)
{
	FILE *file = fopen(path, "r");
	uint8_t *data = malloc(4 << 20);

	*bytes = file && data ? fread(data, 1, 4 << 20, file) : 0;
	if (file)
		fclose(file);
	return data;
}

static void write_file(const uint8_t *data, size_t bytes)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file))
		abort();
}

static void damage_bytes(struct fuzz *fuzz, uint8_t *data, size_t *bytes)
{
	uint32_t cnt = 1 + fuzz_below(fuzz, 30);
	size_t page = fuzz_below(fuzz, (uint32_t)(*bytes / PAGE)) * PAGE;

	for (uint32_t i = 0; i < cnt; i++) {
		/* headers of pages and cells are at both ends */
		size_t at = fuzz_below(fuzz, 3) ? page + fuzz_below(fuzz, 200)
						: fuzz_below(fuzz, (uint32_t)*bytes);

		data[at % *bytes] = (uint8_t)fuzz_below(fuzz, 256);
	}
	if (!fuzz_below(fuzz, 8))
		memcpy(data + page, data + fuzz_below(fuzz, (uint32_t)(*bytes / PAGE)) * PAGE,
			PAGE / 2);
	if (!fuzz_below(fuzz, 8))
		*bytes = fuzz_below(fuzz, (uint32_t)*bytes) + 1;
}

/* Values that no writer writes, in a file that is otherwise sound. */
static void damage_values(struct fuzz *fuzz)
{
	static const char *const columns[][2] = {{"wt_op", "start"}, {"wt_op", "duration"},
		{"wt_op", "shape_id"}, {"wt_op", "lane_id"}, {"wt_api", "call_id"},
		{"wt_api", "start"}, {"wt_api", "duration"}, {"wt_string", "string"},
		{"wt_symbol", "name_id"}, {"wt_shape", "kind"}, {"wt_shape", "copy_kind"},
		{"wt_copy", "bytes"}, {"wt_device", "name"}, {"wt_device", "bdf"},
		{"wt_lost", "count"}, {"wt_lost", "cause"}, {"wt_status", "text"},
		{"wt_status", "level"}, {"wt_run", "origin_ns"}, {"wt_run", "origin_realtime_ns"},
		{"wt_process", "pid"}, {"wt_process", "joined"}, {"wt_meta", "value"},
		{"wt_clock", "width_ns"}, {"wt_state", "untimed"}};
	static const char *const values[] = {"'text'", "x'00ff80'", "1e300", "-1",
		"9223372036854775807", "-9223372036854775808", "NULL", "0", "zeroblob(1000000)",
		"'_ZN' || hex(zeroblob(5000))", "char(27) || '[2J' || char(10)"};
	sqlite3 *db;

	if (sqlite3_open(path, &db) == SQLITE_OK)
		for (uint32_t cnt = 1 + fuzz_below(fuzz, 4); cnt; cnt--) {
			const char *const *column = columns[fuzz_below(fuzz, 25)];
			char *sql = sqlite3_mprintf(
				"PRAGMA ignore_check_constraints = ON;"
				"UPDATE OR IGNORE %s SET \"%s\" = %s WHERE id %% %d = 0",
				column[0], column[1], values[fuzz_below(fuzz, 11)],
				1 + (int)fuzz_below(fuzz, 3));

			sqlite3_exec(db, sql, NULL, NULL, NULL);
			sqlite3_free(sql);
		}
	sqlite3_close(db);
}

static void run_commands(struct fuzz *fuzz)
{
	static const char *const commands[][6] = {{"summary"}, {"summary", "--by", "api"},
		{"summary", "--by", "copy", "--csv"}, {"summary", "--by", "stream"},
		{"summary", "--by", "device"}, {"summary", "--by", "process", "--json"},
		{"summary", "--since", "1us", "--until", "1h"}, {"summary", "--group", "(.)e"},
		{"info"}, {"info", "--json"}};
	const char *const *command = commands[fuzz_below(fuzz, 10)];
	char *argv[8];
	int argc = 0, code;

	for (; command[argc]; argc++)
		argv[argc] = (char *)command[argc];
	argv[argc++] = path;
	argv[argc] = NULL;
	code = wt_command__find(argv[0])->run(argc, argv);
	if (code != 0 && code != 1)
		abort();
}

int main(int argc, char **argv)
{
	const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	uint8_t *sound[2], *data = malloc(4 << 20);
	size_t sound_bytes[2];
	struct fuzz fuzz = {0};

	fuzz_start(&fuzz, argc, argv);
	snprintf(path, sizeof(path), "%s/wt-fuzz-%ld.db", folder, (long)getpid());
	for (int schema = 0; schema < 2; schema++) {
		if (sample__write(path, schema, WT_STORE_REPLACE, NULL))
			return 1;
		sound[schema] = read_file(&sound_bytes[schema]);
	}
	/* what the commands print is not looked at, only that they end */
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w"); /* descriptor 2 stays: sanitizers report there */
	if (!stdout || !stderr)
		return 1;
	do {
		int schema = fuzz_below(&fuzz, 4) == 0;
		size_t bytes = sound_bytes[schema];

		memcpy(data, sound[schema], bytes);
		if (fuzz_below(&fuzz, 2))
			damage_bytes(&fuzz, data, &bytes);
		write_file(data, bytes);
		if (!fuzz_below(&fuzz, 3))
			damage_values(&fuzz);
		for (int i = 0; i < 3; i++)
			run_commands(&fuzz);
	} while (fuzz_goes_on(&fuzz));
	unlink(path);
	free(sound[0]);
	free(sound[1]);
	free(data);
	return 0;
}
