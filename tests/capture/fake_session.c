// SPDX-License-Identifier: MIT
#include "fake_session.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"

static char dir[64];
static struct wt_session_shared *session;
static pthread_t heart;
static _Atomic bool stop;

static void *beat(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		atomic_store(&session->heartbeat_ns, wt_clock__monotonic_ns());
		usleep(20000);
	}
	return NULL;
}

struct wt_session_shared *fake_session__start(void)
{
	char path[128];
	int fd;

	strcpy(dir, "/tmp/wavetap-test-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/%s", dir, WT_SESSION_FILE);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, WT_SESSION_BYTES))
		abort();
	session = mmap(NULL, WT_SESSION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	session->magic = WT_SESSION_MAGIC;
	session->version = WT_SESSION_VERSION;
	session->session_id = 7;
	session->settings = (struct wt_settings){
		.want = WT_WANT_DEFAULT,
		.follow = 1,
		.buffer_bytes = 512u << 20,
		.ring_bytes = 256u << 10,
	};
	atomic_store(&session->heartbeat_ns, wt_clock__monotonic_ns());
	atomic_store(&session->state, WT_COLLECTOR_RUNNING);
	setenv("WAVETAP_SESSION", dir, 1);
	atomic_store(&stop, false);
	pthread_create(&heart, NULL, beat, NULL);
	return session;
}

void fake_session__stop(void)
{
	DIR *listing = opendir(dir);
	struct dirent *entry;
	char path[400];

	atomic_store(&stop, true);
	pthread_join(heart, NULL);
	while (listing && (entry = readdir(listing))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		unlink(path);
	}
	if (listing)
		closedir(listing);
	rmdir(dir);
}

const char *fake_session__dir(void)
{
	return dir;
}

void *fake_session__map(enum wt_file_kind kind, uint32_t process, uint32_t number, size_t *bytes)
{
	char name[32], path[128];
	struct stat st;
	void *map;
	int fd;

	wt_session__file_name(name, kind, process, number);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st))
		abort();
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	*bytes = (size_t)st.st_size;
	return map == MAP_FAILED ? NULL : map;
}

int fake_session__set_up(void **state)
{
	(void)state;
	fake_session__start();
	return 0;
}

int fake_session__tear_down(void **state)
{
	(void)state;
	fake_session__stop();
	return 0;
}
