// SPDX-License-Identifier: MIT
/* Joining a session: once a process, at its first event; again after a fork. */
#include "capture/capture.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/environment.h"
#include "capture/files.h"

struct wt_process wt_process;
static char child_setting[sizeof(wt_process.session_dir) + 32];
static _Atomic bool child_decided; /* the text and the settings are there */
static pid_t joined_pid;

/*
 * A line that nobody can take is dropped: stderr may be a pipe whose reader
 * has gone (its SIGPIPE would end the program) or does not read.
 */
static void write_line(const char *line, size_t bytes)
{
	struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
	const struct timespec now = {0, 0};
	sigset_t pending, pipe;
	struct wt_hold hold;
	int saved = errno;

	wt_hold__begin(&hold);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	if (poll(&room, 1, 0) == 1 && room.revents & POLLOUT &&
		write(STDERR_FILENO, line, bytes) < 0 && errno == EPIPE &&
		!sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe, NULL, &now);
	wt_hold__end(&hold);
	errno = saved;
}

void wt_say(const char *text, const char *detail)
{
	static _Atomic uint32_t said;
	char line[512];
	int n;

	if (atomic_fetch_add_explicit(&said, 1, memory_order_relaxed) >= 8)
		return;
	n = snprintf(line, sizeof(line), "wavetap: %s%s%s\n", text, detail ? ": " : "",
		detail ? detail : "");
	if (n > (int)sizeof(line) - 1)
		n = (int)sizeof(line) - 1;
	write_line(line, (size_t)n);
}

/* The page that a child finds empty. Where the kernel cannot wipe it, nothing is recorded. */
static struct wt_live *live_page(void)
{
	static _Atomic(struct wt_live *) page;
	static _Atomic bool no_wiping; /* said once: not asked again at each call */
	struct wt_live *live = atomic_load_explicit(&page, memory_order_acquire), *none = NULL;
	void *fresh;

	if (live || atomic_load_explicit(&no_wiping, memory_order_relaxed))
		return live;
	fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fresh == MAP_FAILED)
		return NULL;
	if (madvise(fresh, 4096, MADV_WIPEONFORK)) {
		atomic_store_explicit(&no_wiping, true, memory_order_relaxed);
		munmap(fresh, 4096);
		return NULL;
	}
	/* release: pairs with the acquire above */
	if (!atomic_compare_exchange_strong_explicit(&page, &none, fresh, memory_order_acq_rel,
		    memory_order_acquire)) {
		munmap(fresh, 4096);
		return none;
	}
	return fresh;
}

static bool session_is_alive(const struct wt_session_shared *session)
{
	uint64_t beat = atomic_load_explicit(&session->heartbeat_ns, memory_order_relaxed);

	return atomic_load_explicit(&session->state, memory_order_acquire) ==
		       WT_COLLECTOR_RUNNING &&
	       wt_clock__monotonic_ns() - beat < WT_COLLECTOR_GONE_NS;
}

static struct wt_session_shared *map_session(const char *dir)
{
	char path[PATH_MAX];
	struct wt_session_shared *session = NULL;
	struct stat st;
	void *map;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", dir, WT_SESSION_FILE) >= (int)sizeof(path))
		return NULL;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size >= WT_SESSION_BYTES && S_ISREG(st.st_mode)) {
		map = mmap(NULL, WT_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED)
			session = map;
	}
	close(fd);
	if (session && (session->magic != WT_SESSION_MAGIC ||
			       session->version != WT_SESSION_VERSION)) {
		munmap(session, WT_SESSION_BYTES);
		session = NULL;
	}
	return session;
}

/* Field 22 of /proc/self/stat; the name in field 2 may hold anything, so count from its end. */
static uint64_t own_start_ticks(void)
{
	char text[1024];
	const char *at;

	wt_files__read("/proc/self/stat", text, sizeof(text));
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

static void describe(struct wt_process_shared *shared)
{
	static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
		"MV2_COMM_WORLD_RANK", "SLURM_PROCID", "RANK"};
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t got;

	if (n > 0) {
		size_t keep = sizeof(shared->image) - 1;
		/* the end of a long path tells more than its beginning */
		size_t cut = (size_t)n > keep ? (size_t)n - keep : 0;

		memcpy(shared->image, path + cut, (size_t)n - cut);
	}
	got = wt_files__read("/proc/self/cmdline", shared->command, sizeof(shared->command));
	for (size_t i = 0; i + 1 < got; i++)
		if (!shared->command[i])
			shared->command[i] = ' ';
	gethostname(shared->host, sizeof(shared->host) - 1);
	for (size_t i = 0; i < sizeof(rank_names) / sizeof(*rank_names); i++) {
		const char *value = getenv(rank_names[i]);

		if (value && *value) {
			snprintf(shared->rank, sizeof(shared->rank), "%s", value);
			break;
		}
	}
}

static bool make_process_file(bool forked)
{
	struct wt_process *p = &wt_process;
	struct wt_process_shared *shared;
	struct wt_new_file file;
	uint32_t number = atomic_fetch_add_explicit(&p->session->process_cnt, 1,
		memory_order_relaxed);

	shared = wt_files__create(&file, WT_FILE_PROCESS, number, 0, WT_PROCESS_FILE_BYTES);
	if (!shared)
		return false;
	shared->version = 1;
	shared->number = number;
	shared->pid = getpid();
	shared->parent_pid = getppid();
	shared->start_ticks = own_start_ticks();
	shared->joined_ns = wt_clock__boottime_ns();
	shared->cpu_clock = p->tsc ? WT_CPU_CLOCK_TSC : WT_CPU_CLOCK_BOOTTIME;
	shared->forked = forked;
	describe(shared);
	wt_ring__init(&p->define, (char *)shared + WT_PROCESS_RING_OFFSET,
		WT_DEFINITION_RING_BYTES, number, UINT32_MAX);
	shared->magic = WT_PROCESS_MAGIC;
	/* release: the collector looks at the rest once it sees JOINED */
	atomic_store_explicit(&shared->state, WT_PROCESS_JOINED, memory_order_release);
	if (!wt_files__publish(&file))
		return false;
	p->shared = shared;
	return true;
}

/* Where the session is: inherited by fork, named by the environment, or started now. */
static bool find_session(void)
{
	struct wt_process *p = &wt_process;
	const char *dir = getenv("WAVETAP_SESSION");

	if (p->session)
		return true;
	if (getauxval(AT_SECURE))
		return false;
	if (dir && *dir) {
		snprintf(p->session_dir, sizeof(p->session_dir), "%s", dir);
	} else {
		const char *output = getenv("WAVETAP_OUTPUT");

		if (!output || !*output ||
			!wt_spawn__collector(p->session_dir, sizeof(p->session_dir)))
			return false;
	}
	p->session = map_session(p->session_dir);
	if (!p->session)
		return false;
	snprintf(child_setting, sizeof(child_setting), "WAVETAP_SESSION=%s", p->session_dir);
	return true;
}

const char *wt_session__child_setting(void)
{
	/* acquire: pairs with the release in join() */
	if (!atomic_load_explicit(&child_decided, memory_order_acquire))
		return NULL;
	return wt_process.settings.follow ? child_setting : "";
}

/* Of the traced command, where that is the only one to be traced. */
static bool is_child(const struct wt_session_shared *session, bool forked)
{
	uint32_t primary = atomic_load_explicit(&session->primary_pid, memory_order_relaxed);

	return forked || (primary && primary != (uint32_t)joined_pid);
}

static enum wt_recording join(void)
{
	struct wt_process *p = &wt_process;
	pid_t pid = (pid_t)syscall(SYS_getpid);
	/* once a process, and never again in it: somebody before us was the parent (of any pid) */
	bool forked = joined_pid != 0;

	p->shared = NULL;
	joined_pid = pid;
	if (!find_session() || !session_is_alive(p->session))
		return WT_OFF;
	p->forked = forked;
	p->tsc = wt_clock__tsc_usable();
	p->settings = p->session->settings;
	/* release: until now, another thread's children got what they were given */
	atomic_store_explicit(&child_decided, true, memory_order_release);
	if (!p->settings.follow && is_child(p->session, forked))
		return WT_OFF;
	p->generation++;
	if (!make_process_file(forked)) {
		wt_say("not recording this process: no shared memory for it", p->session_dir);
		return WT_OFF;
	}
	return WT_RECORDING;
}

bool wt_process__join(void)
{
	struct wt_tls *tls = &wt_tls;
	struct wt_live *live;
	enum wt_recording state;
	struct wt_hold hold;
	bool joined = false;
	int saved = errno;

	if (tls->nest)
		return false;
	tls->nest++;
	live = live_page();
	if (!live) {
		tls->nest--;
		errno = saved;
		return false;
	}
	wt_process.live = live;
	wt_lock__take(&live->join_lock, &hold);
	state = atomic_load_explicit(&live->recording, memory_order_relaxed);
	if (state == WT_UNDECIDED) {
		state = join();
		joined = state == WT_RECORDING;
		atomic_store_explicit(&live->recording, state, memory_order_release);
	}
	wt_lock__drop(&live->join_lock, &hold);
	if (joined)
		wt_environment__tell();
	tls->nest--;
	errno = saved;
	return state == WT_RECORDING;
}

void wt_process__stop(void)
{
	struct wt_process *p = &wt_process;

	if (!p->live || !p->shared)
		return;
	atomic_store_explicit(&p->live->recording, WT_OFF, memory_order_relaxed);
	atomic_store_explicit(&p->shared->interrupted_ns, wt_clock__boottime_ns(),
		memory_order_relaxed);
}
