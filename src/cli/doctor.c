// SPDX-License-Identifier: MIT
/* wavetap doctor: what this machine has for tracing. One function a finding. */
#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"
#include "base/table.h"
#include "base/units.h"
#include "cli/commands.h"
#include "core/clock.h"

struct settings {
	int json;
};

const struct wt_option wt_options_doctor[] = {
	{0, "json", NULL, WT_OPTION_FLAG, offsetof(struct settings, json), "print JSON"},
	{0, "self-test", NULL, WT_OPTION_LATER, 0, "trace a small program (not yet)"},
	{0},
};

enum level { OK, NOTE, MISSING };

struct finding {
	enum level level;
	char text[512];
	const char *hint; /* "" none */
};

static void say(struct finding *finding, enum level level, const char *hint, const char *format,
	...) __attribute__((format(printf, 4, 5)));

static void say(
	struct finding *finding, enum level level, const char *hint, const char *format, ...)
{
	va_list args;

	finding->level = level;
	finding->hint = hint;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

#define NODES_MAX 256

/* ---- the GPU ------------------------------------------------------------ */

static void check_driver(struct finding *finding)
{
	if (access("/dev/kfd", F_OK))
		say(finding, MISSING,
			"load amdgpu; in a container: --device /dev/kfd --device /dev/dri",
			"/dev/kfd is not there");
	else if (access("/dev/kfd", R_OK | W_OK))
		say(finding, MISSING,
			"add yourself to the groups render and video, then log in again",
			"/dev/kfd cannot be opened: %s", strerror(errno));
	else
		say(finding, OK, "", "/dev/kfd can be opened");
}

/* A line "name value" of a topology file. */
static unsigned long property(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	char key[64];
	unsigned long value, found = 0;

	while (file && fscanf(file, "%63s %lu", key, &value) == 2)
		if (!strcmp(key, name))
			found = value;
	if (file)
		fclose(file);
	return found;
}

static void check_gpus(struct finding *finding)
{
	char text[400] = "";
	int cnt = 0;

	/* by their numbers, not by a look into the folder, which a virtual GPU does not have */
	for (int node = 0; node < NODES_MAX; node++) {
		size_t length = strlen(text);
		unsigned long version;
		char path[80];

		snprintf(path, sizeof(path), "/sys/class/kfd/kfd/topology/nodes/%d/properties",
			node);
		/* a CPU is a node without SIMDs; 90010 is gfx90a: the last digits are hexadecimal
		 */
		if (!property(path, "simd_count"))
			continue;
		version = property(path, "gfx_target_version");
		snprintf(text + length, sizeof(text) - length, "%sgfx%lu%lx%lx", cnt++ ? ", " : "",
			version / 10000, version / 100 % 100, version % 100);
	}
	if (cnt)
		say(finding, OK, "", "%d: %s", cnt, text);
	else
		say(finding, MISSING, "dmesg | grep amdgpu tells what the driver found", "none");
}

static void check_render(struct finding *finding)
{
	size_t usable = 0, cnt = 0;
	char path[40];

	for (int node = 128; node < 128 + NODES_MAX; node++) {
		snprintf(path, sizeof(path), "/dev/dri/renderD%d", node);
		if (access(path, F_OK))
			continue;
		cnt++;
		usable += !access(path, R_OK | W_OK);
	}
	if (usable == cnt && cnt)
		say(finding, OK, "", "%zu, all can be opened", cnt);
	else if (cnt)
		say(finding, NOTE, "add yourself to the groups render and video, then log in again",
			"%zu of %zu can be opened", usable, cnt);
	else
		say(finding, MISSING, "in a container: --device /dev/dri",
			"/dev/dri/renderD* is not there");
}

/* ---- libraries ---------------------------------------------------------- */

static const char *const library_folders[] = {"/opt/rocm/lib", "/opt/rocm-*/lib",
	"/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/usr/lib64", "/usr/lib", NULL};

static bool try_folder(const char *folder, const char *library, char found[PATH_MAX])
{
	char pattern[PATH_MAX + 256];
	glob_t files;
	bool done;

	snprintf(pattern, sizeof(pattern), "%s/%.200s*", folder, library);
	done = !glob(pattern, 0, NULL, &files) && realpath(files.gl_pathv[0], found);
	globfree(&files);
	return done;
}

/* Where the loader or ROCm's own layout has it: LD_LIBRARY_PATH, ROCM_PATH, the usual folders. */
static bool find_library(const char *library, char found[PATH_MAX])
{
	const char *list = getenv("LD_LIBRARY_PATH"), *rocm = getenv("ROCM_PATH");
	char folder[PATH_MAX];

	while (list && *list) {
		size_t length = strcspn(list, ":");

		snprintf(folder, sizeof(folder), "%.*s", (int)length, list);
		if (length && try_folder(folder, library, found))
			return true;
		list += length + (list[length] == ':');
	}
	if (rocm) {
		snprintf(folder, sizeof(folder), "%s/lib", rocm);
		if (try_folder(folder, library, found))
			return true;
	}
	for (const char *const *at = library_folders; *at; at++)
		if (try_folder(*at, library, found))
			return true;
	return false;
}

static void check_library(
	struct finding *finding, const char *library, enum level without, const char *hint)
{
	char found[PATH_MAX];
	const char *version;

	if (!find_library(library, found)) {
		say(finding, without, hint, "%s is not there", library);
		return;
	}
	version = strstr(found, ".so.");
	say(finding, OK, "", "%s%s%s", found, version ? ", version " : "",
		version ? version + 4 : "");
}

static void check_hip(struct finding *finding)
{
	check_library(finding, "libamdhip64.so", MISSING,
		"install ROCm's HIP runtime, or set ROCM_PATH; programs that bring their own are "
		"traced too");
}

static void check_hsa(struct finding *finding)
{
	check_library(finding, "libhsa-runtime64.so", MISSING,
		"install ROCm's HSA runtime, or set ROCM_PATH");
}

static void check_roctx(struct finding *finding)
{
	check_library(finding, "libroctx64.so", NOTE, "only programs with roctx markers need it");
}

static void check_register(struct finding *finding)
{
	check_library(finding, "librocprofiler-register.so", NOTE,
		"ROCm before 6.2 has none: HIP calls are then seen at HIP's symbols and in "
		"look-ups");
}

static void check_capture(struct finding *finding)
{
	static const char *const places[] = {"%s/libwavetap.so", "%s/../lib/libwavetap.so",
		"%s/../lib/x86_64-linux-gnu/libwavetap.so", "%s/../lib64/libwavetap.so"};
	char own[PATH_MAX] = "", path[PATH_MAX + 96];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[length > 0 ? length : 0] = '\0';
	dirname(own);
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), places[i], own);
#pragma GCC diagnostic pop
		if (!access(path, R_OK)) {
			char *slash = strrchr(path, '/');

			strcpy(slash ? slash + 1 : path, "libwavetap_register.so");
			say(finding, access(path, R_OK) ? NOTE : OK,
				access(path, R_OK) ? "reinstall wavetap: without it HIP's own table of "
						     "functions is not used"
						   : "",
				"%.*s/libwavetap.so%s", (int)(slash ? slash - path : 0), path,
				access(path, R_OK) ? ", but no libwavetap_register.so"
						   : " and libwavetap_register.so");
			return;
		}
	}
	say(finding, MISSING, "reinstall wavetap",
		"libwavetap.so is not beside the program or in ../lib");
}

/* ---- the machine -------------------------------------------------------- */

static void check_memory(struct finding *finding)
{
	char free_text[WT_UNITS_BYTES], size_text[WT_UNITS_BYTES];
	struct statvfs status;
	uint64_t available;

	if (statvfs("/dev/shm", &status)) {
		say(finding, MISSING, "--session-dir names another folder", "/dev/shm: %s",
			strerror(errno));
		return;
	}
	available = (uint64_t)status.f_bavail * status.f_frsize;
	wt_units__size(free_text, available);
	wt_units__size(size_text, (uint64_t)status.f_blocks * status.f_frsize);
	if (available >= 512u << 20)
		say(finding, OK, "", "/dev/shm has %s free of %s", free_text, size_text);
	else
		say(finding, NOTE,
			"a container: --shm-size 1g, or --ipc=host; or --session-dir with another "
			"folder",
			"/dev/shm has only %s free of %s", free_text, size_text);
}

static void check_locked(struct finding *finding)
{
	char text[WT_UNITS_BYTES];
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		say(finding, OK, "", "no limit");
	else
		say(finding, OK, "", "at most %s a process", wt_units__size(text, limit.rlim_cur));
}

static void check_clock(struct finding *finding)
{
	enum { READINGS = 200000 };
	bool tsc = wt_clock__tsc_usable();
	uint64_t start = wt_clock__boottime_ns(), end;
	struct wt_clock_sample sample;

	for (int i = 0; i < READINGS; i++)
		(void)*(volatile uint64_t *)&(uint64_t){wt_clock__read(tsc)};
	end = wt_clock__boottime_ns();
	wt_clock__sample(&sample);
	say(finding, tsc ? OK : NOTE,
		tsc ? ""
		    : "the kernel does not keep time by the TSC here: a reading costs a little "
		      "more",
		"%s, %.1f ns a reading, known within %llu ns", tsc ? "TSC" : "clock_gettime",
		(double)(end - start) / READINGS, (unsigned long long)sample.width_ns);
}

static void check_system(struct finding *finding)
{
	struct utsname name;

	uname(&name);
	say(finding, OK, "", "%s %s on %s", name.sysname, name.release, name.machine);
}

static const struct {
	const char *name, *key;
	void (*check)(struct finding *finding);
} checks[] = {
	{"system", "system", check_system},
	{"GPU driver", "gpu_driver", check_driver},
	{"GPUs", "gpus", check_gpus},
	{"render nodes", "render_nodes", check_render},
	{"HIP runtime", "hip_runtime", check_hip},
	{"HSA runtime", "hsa_runtime", check_hsa},
	{"roctx", "roctx", check_roctx},
	{"rocprofiler-register", "rocprofiler_register", check_register},
	{"capture library", "capture_library", check_capture},
	{"shared memory", "shared_memory", check_memory},
	{"locked memory", "locked_memory", check_locked},
	{"CPU clock", "cpu_clock", check_clock},
};
#define CHECK_CNT (sizeof(checks) / sizeof(checks[0]))

int wt_cmd_doctor(int argc, char **argv)
{
	static const char *const levels[] = {"ok", "note", "missing"};
	struct wt_json json = {.file = stdout, .indent = 2};
	struct settings settings = {0};
	int operand_cnt, code, missing = 0;

	if (wt_options__parse(
		    "doctor", wt_options_doctor, &settings, argc, argv, false, &operand_cnt, &code))
		return code;
	if (operand_cnt)
		return wt_usage_error("doctor", "unexpected: %s", argv[1]);
	if (settings.json)
		wt_json__object(&json);
	for (size_t i = 0; i < CHECK_CNT; i++) {
		struct finding finding = {0};

		checks[i].check(&finding);
		missing += finding.level == MISSING;
		if (settings.json) {
			wt_json__key(&json, checks[i].key);
			wt_json__object(&json);
			wt_json__key_string(&json, "level", levels[finding.level]);
			wt_json__key_string(&json, "text", finding.text);
			wt_json__key_string(&json, "hint", finding.hint[0] ? finding.hint : NULL);
			wt_json__end(&json);
			continue;
		}
		printf("%-8s  %-20s  %s\n", levels[finding.level], checks[i].name, finding.text);
		if (finding.hint[0])
			printf("%34s%s\n", "hint: ", finding.hint);
	}
	if (settings.json)
		wt_json__end(&json);
	else
		printf("\n%s\n", missing ? "Some of what tracing needs is missing, see above."
					 : "Everything that tracing needs is here.");
	return 0;
}
