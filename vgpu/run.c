// SPDX-License-Identifier: MIT
/* vgpu-run: runs a command on the virtual GPU. */
#include "model.h"
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name, *argument, *help, *variable;
	int key;
} options[] = {
	{"gpus", "N", "number of GPUs, 0 to 8 (default 1)", "VGPU_GPUS", 'g'},
	{"arch", "NAME", "GPU model, gfx90a (default) or mi300x: a wrong name lists all",
		"VGPU_ARCH", 'a'},
	{"kernel-ns", "LIST",
		"simulated kernel time in ns (default 5000), for all or by name, fixed or\n"
		"spread: 5000,gemm=20000~15%,attn*=80000~lognormal:30%",
		"VGPU_KERNEL_NS", 't'},
	{"durations", "FILE",
		"recorded kernel times, by name: each kernel's in turn; scripts/durations\n"
		"makes the file of a trace",
		"VGPU_DURATIONS", 't'},
	{"draw-durations", NULL, "draw them at random instead (see --seed)", "VGPU_DRAW_DURATIONS",
		't'},
	{"seed", "N", "of random times: the same number, the same times (default 0)", "VGPU_SEED",
		't'},
	{"concurrency", "N", "kernels that a GPU runs at a time, 1 to 128 (default 0: no limit)",
		"VGPU_CONCURRENCY", 't'},
	{"packet-ns", "LIST",
		"what processing a packet takes: barrier=1000 (default), dispatch=0, pm4=0,\n"
		"agent=0; a number alone is for all",
		"VGPU_PACKET_NS", 't'},
	{"copy-gbps", "LIST",
		"simulated speed of copies in GB/s (default 25; 0: no time), for all or by\n"
		"direction: 25,d2d=800,peer=50,h2d=20,d2h=20,h2h=10,fill=800",
		"VGPU_COPY_GBPS", 't'},
	{"copy-latency-ns", "LIST",
		"what each copy takes besides, for all or by direction (default 0)",
		"VGPU_COPY_LATENCY_NS", 't'},
	{"clock", "LIST", "the GPUs' clocks: offset=3s,ppm=20,1:ppm=-35,drift=30/10s,suspend=2s@5s",
		"VGPU_CLOCK", 'k'},
	{"kernels", "FILE.so",
		"functions that stand in for kernels (vgpu/kernels.h); several times",
		"VGPU_KERNELS", 'K'},
	{"fault", "FAULT",
		"make it happen: stall,kernel=gemm,for=20ms; docs/VGPU.md lists them;\n"
		"several times",
		"VGPU_FAULT", 'F'},
	{"log", "FILE", "write one JSON line for every packet executed", "VGPU_LOG", 'l'},
	{"finish-log", "FILE", "finish the log that a killed vgpu-run left, and exit", NULL, 'f'},
	{"help", NULL, "show this help", NULL, 'h'},
};
#define OPTION_CNT (sizeof options / sizeof *options)

static const char examples[] =
	"Examples:\n"
	"  vgpu-run -- rocminfo\n"
	"  vgpu-run --gpus 2 --log gpu.jsonl -- ./my-hip-program\n"
	"  vgpu-run --kernel-ns '5000,gemm=20000~15%,attn*=80000' --seed 7 -- python3 train.py\n"
	"  vgpu-run --copy-gbps 25,d2d=800 --copy-latency-ns 2000 -- ./my-hip-program\n"
	"  vgpu-run --kernels ./kernels.so -- ./my-test\n"
	"  vgpu-run --fault memory,kernel=gemm,nth=3 -- ./my-hip-program\n";

int run_fail(int code, const char *hint, const char *fmt, ...)
{
	va_list ap;

	fputs("vgpu-run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nhint: %s\n", hint);
	return code;
}

static void help(void)
{
	puts("Usage: vgpu-run [OPTIONS] -- COMMAND...\n"
	     "Runs COMMAND on an emulated AMD GPU. Kernels take simulated time and compute "
	     "nothing;\n"
	     "copies and fills really move bytes.\n\nOptions:");
	for (size_t i = 0; i < OPTION_CNT; i++) {
		const char *line = options[i].help;
		char left[40];

		snprintf(left, sizeof left, "--%s%s%s", options[i].name,
			options[i].argument ? " " : "",
			options[i].argument ? options[i].argument : "");
		printf("  %-22s %.*s\n", left, (int)strcspn(line, "\n"), line);
		while ((line = strchr(line, '\n'))) {
			line++;
			printf("  %-22s %.*s\n", "", (int)strcspn(line, "\n"), line);
		}
	}
	printf("\n%s", examples);
}

/* ---- settings ---- */

static bool is_number(const char *s, double max)
{
	char *end;
	double v = strtod(s, &end);

	return *s >= '0' && *s <= '9' && !*end && v <= max;
}

/* "--arch mi210 (gfx90a), ...": what there is. */
static const char *arch_hint(void)
{
	static char text[400];
	size_t len = (size_t)snprintf(text, sizeof text, "--arch ");

	for (unsigned i = 0; vg_model_at(i) && len < sizeof text; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%s (%s)", i ? ", " : "",
			vg_model_at(i)->product, vg_model_at(i)->name);
	return text;
}

int run_set(const char *variable, const char *value)
{
	if (setenv(variable, value, 1))
		return run_fail(EXIT_OWN, "free some memory", "cannot set %s", variable);
	return 0;
}

static int absolute_path(const char *path, char *absolute)
{
	char cwd[PATH_MAX];

	if (path[0] == '/' ? (size_t)snprintf(absolute, PATH_MAX, "%s", path) >= PATH_MAX
			   : !getcwd(cwd, sizeof cwd) || (size_t)snprintf(absolute, PATH_MAX,
								 "%s/%s", cwd, path) >= PATH_MAX)
		return run_fail(
			EXIT_OWN, "use a shorter, absolute path", "the path is too long: %s", path);
	return 0;
}

int run_set_path(const char *variable, const char *path)
{
	char absolute[PATH_MAX];
	int code = absolute_path(path, absolute);

	return code ? code : run_set(variable, absolute);
}

static int set_log(const char *file, char *absolute)
{
	int code;

	if (!*file)
		return run_fail(EXIT_OWN, "--log FILE", "--log has no file name");
	code = absolute_path(file, absolute);
	return code ? code : run_set("VGPU_LOG", absolute);
}

static int apply(int key, const char *value, char *log)
{
	switch (key) {
	case 'g':
		if (!is_number(value, 8) || strchr(value, '.'))
			return run_fail(EXIT_OWN, "--gpus 2",
				"--gpus %s: a number from 0 to 8 is needed", value);
		return run_set("VGPU_GPUS", value);
	case 'a':
		if (!vg_model_find(value))
			return run_fail(EXIT_OWN, arch_hint(), "--arch %s is not emulated", value);
		return run_set("VGPU_ARCH", value);
	case 'k':
		return run_clock__set(value);
	case 'K':
		return run_add_kernels(value);
	case 'F':
		return run_add_fault(value);
	default:
		return set_log(value, log);
	}
}

/* libvgpu.so lies beside this program, or in ../lib or ../lib/<triplet> of an installation. */
static int preload(void)
{
	static const char *const places[] = {"libvgpu.so", "../lib/libvgpu.so",
		"../lib/x86_64-linux-gnu/libvgpu.so", "../lib64/libvgpu.so"};
	char self[PATH_MAX], path[PATH_MAX + 64], found[PATH_MAX], *slash, *list;
	const char *old = getenv("LD_PRELOAD");
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	bool ok = false;

	if (n < 0)
		return run_fail(EXIT_OWN, "mount /proc", "cannot find myself in /proc/self/exe");
	self[n] = 0;
	slash = strrchr(self, '/');
	slash[1] = 0;
	for (size_t i = 0; i < sizeof places / sizeof *places && !ok; i++) {
		snprintf(path, sizeof path, "%s%s", self, places[i]);
		ok = realpath(path, found) != NULL;
	}
	if (!ok)
		return run_fail(EXIT_OWN, "build it (ninja vgpu) or install it beside vgpu-run",
			"libvgpu.so is neither in %s nor in %s../lib", self, self);
	if (strpbrk(found, " :"))
		return run_fail(EXIT_OWN, "move it to a path without spaces and colons",
			"%s cannot be preloaded: LD_PRELOAD has no way to write this path", found);
	if (!old || !*old)
		return run_set("LD_PRELOAD", found);
	if (asprintf(&list, "%s:%s", found, old) < 0)
		return run_fail(EXIT_OWN, "free some memory", "out of memory");
	n = run_set("LD_PRELOAD", list);
	free(list);
	return (int)n;
}

/* ---- running ---- */

static int exec_failed(const char *command, int err)
{
	if (err == ENOENT)
		return run_fail(
			EXIT_NOT_FOUND, "check the name and PATH", "%s: not found", command);
	return run_fail(EXIT_CANNOT_EXECUTE, "is it a program, and executable?", "%s: %s", command,
		strerror(err));
}

static volatile sig_atomic_t child;

static volatile sig_atomic_t stop;

/* To the command; once that has ended, to ourselves: whoever waits for orphans can be stopped. */
static void pass_on(int sig)
{
	if (child)
		kill((pid_t)child, sig);
	else
		stop = sig;
}

static const int passed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

/* Terminal signals reach the command by themselves: it is in our process group. */
static void set_signals(struct sigaction *interrupt, struct sigaction *quit)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, forward = {.sa_handler = pass_on};

	forward.sa_flags = SA_RESTART;
	sigaction(SIGINT, &ignore, interrupt);
	sigaction(SIGQUIT, &ignore, quit);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
		sigaction(passed_on[i], &forward, NULL);
}

/* The child's error comes through the pipe, which exec closes. */
static int start(char **command, int *exec_error)
{
	struct sigaction interrupt, quit, dfl = {.sa_handler = SIG_DFL};
	int pipe_fds[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	set_signals(&interrupt, &quit);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		sigaction(SIGINT, &interrupt, NULL);
		sigaction(SIGQUIT, &quit, NULL);
		for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
			sigaction(passed_on[i], &dfl, NULL);
		execvp(command[0], command);
		*exec_error = errno;
		if (write(pipe_fds[1], exec_error, sizeof *exec_error) < 0)
			_exit(EXIT_OWN);
		_exit(EXIT_NOT_FOUND);
	}
	child = pid;
	close(pipe_fds[1]);
	if (read(pipe_fds[0], exec_error, sizeof *exec_error) != (ssize_t)sizeof *exec_error)
		*exec_error = 0;
	close(pipe_fds[0]);
	return 0;
}

/* Ends as the command ended; the command already dumped core, if it was to. */
static int end_like(int status)
{
	struct rlimit none = {0, 0};
	sigset_t set;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int run_logged(char **command, const char *log)
{
	int status = 0, exec_error = 0, code = run_log__begin(log), err;

	if (code)
		return code;
	/* Orphans of the tree come to us, so that the log is complete when we end. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	err = start(command, &exec_error);
	if (err)
		return run_fail(EXIT_OWN, "is there a limit on processes?", "cannot fork: %s",
			strerror(-err));
	while (waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	signal(SIGINT, pass_on);
	signal(SIGQUIT, pass_on);
	run_log__wait(log, &stop);
	code = run_log__finish(log);
	if (exec_error)
		return exec_failed(command[0], exec_error);
	return code ? code : end_like(status);
}

int main(int argc, char **argv)
{
	struct option longs[OPTION_CNT + 1] = {0};
	char log[PATH_MAX] = "";
	const char *clock;
	int key, code, which = 0;

	for (size_t i = 0; i < OPTION_CNT; i++)
		longs[i] = (struct option){options[i].name,
			options[i].argument ? required_argument : no_argument, NULL,
			options[i].key};
	opterr = 0;
	while ((key = getopt_long(argc, argv, "+:h", longs, &which)) != -1) {
		if (key == 'h') {
			help();
			return 0;
		}
		if (key == 'f')
			return run_log__finish(optarg);
		if (key == ':')
			return run_fail(
				EXIT_OWN, "vgpu-run --help", "%s needs a value", argv[optind - 1]);
		if (key == '?')
			return run_fail(
				EXIT_OWN, "vgpu-run --help", "unknown option %s", argv[optind - 1]);
		code = key == 't' ? run_times__apply(options[which].name, optarg)
				  : apply(key, optarg, log);
		if (code)
			return code;
	}
	if (optind == argc)
		return run_fail(EXIT_OWN, "vgpu-run -- COMMAND; vgpu-run --help shows more",
			"no command to run");
	code = preload();
	clock = getenv("VGPU_CLOCK"); /* perhaps set by hand */
	if (!code && clock && *clock)
		code = run_clock__set(clock);
	if (code)
		return code;
	if (*log)
		return run_logged(argv + optind, log);
	execvp(argv[optind], argv + optind);
	return exec_failed(argv[optind], errno);
}
