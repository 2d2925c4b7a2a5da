// SPDX-License-Identifier: MIT
/*
 * Versions of what the process runs on. Of the runtimes it is the version in the name of the library's
 * file: asking HIP is a call that other tools see.
 */
#include "capture/sources/hsa/hsa.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture/files.h"

/* AMDKFD_IOC_GET_VERSION, linux/kfd_ioctl.h */
struct kfd_version {
	uint32_t major, minor;
};
#define KFD_GET_VERSION _IOR('K', 0x01, struct kfd_version)

static const struct {
	const char *part, *file;
} libraries[] = {
	{"hip", "libamdhip64.so"},
	{"hsa", "libhsa-runtime64.so"},
	{"rccl", "librccl.so"},
};
#define LIBRARY_CNT (sizeof(libraries) / sizeof(*libraries))

struct paths {
	char path[LIBRARY_CNT][PATH_MAX];
};

static void tell(const char *part, const char *version)
{
	struct wt_rec_setting rec = {
		.rec = {.type = WT_REC_SETTING, .id = WT_SETTING_VERSION},
		.name_bytes = (uint32_t)strlen(part),
		.value_bytes = (uint32_t)strlen(version),
		.whole_bytes = (uint32_t)strlen(version),
	};
	char text[256];
	int length = snprintf(text, sizeof(text), "%s=%s", part, version);

	if (length > 0 && length < (int)sizeof(text))
		wt_define(&rec.rec, sizeof(rec), text, (size_t)length);
}

static int on_library(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	const char *name = strrchr(info->dlpi_name, '/');
	struct paths *paths = arg;

	(void)bytes;
	for (size_t i = 0; name && i < LIBRARY_CNT; i++)
		if (!strncmp(name + 1, libraries[i].file, strlen(libraries[i].file)) &&
			!paths->path[i][0])
			snprintf(paths->path[i], PATH_MAX, "%s", info->dlpi_name);
	return 0;
}

/* "7.2.53211" of libamdhip64.so.7.2.53211, to which the names that programs know lead; "": none. */
static const char *version_of(const char *path, const char *file, char real[PATH_MAX])
{
	const char *name;

	if (!realpath(path, real))
		snprintf(real, PATH_MAX, "%s", path);
	name = strrchr(real, '/');
	name = name ? name + 1 : real;
	if (strncmp(name, file, strlen(file)) != 0 || name[strlen(file)] != '.')
		return "";
	return name + strlen(file) + 1;
}

static void tell_libraries(void)
{
	struct paths *paths = calloc(1, sizeof(*paths));
	char *real = malloc(PATH_MAX);

	if (paths && real) {
		dl_iterate_phdr(on_library, paths);
		for (size_t i = 0; i < LIBRARY_CNT; i++)
			if (paths->path[i][0])
				tell(libraries[i].part, version_of(paths->path[i],
								libraries[i].file, real));
	}
	free(real);
	free(paths);
}

static void tell_driver(void)
{
	struct kfd_version kfd;
	struct utsname system;
	char text[64];
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && !ioctl(fd, KFD_GET_VERSION, &kfd)) {
		snprintf(text, sizeof(text), "%u.%u", kfd.major, kfd.minor);
		tell("kfd", text);
	}
	if (fd >= 0)
		close(fd);
	/* only a driver that did not come with the kernel has a version of its own */
	wt_files__read("/sys/module/amdgpu/version", text, sizeof(text));
	text[strcspn(text, "\n")] = 0;
	if (text[0])
		tell("amdgpu", text);
	if (!uname(&system))
		tell("linux", system.release);
}

void wt_versions__tell(void)
{
	static uint32_t told_generation;
	int saved = errno;

	if (told_generation == wt_process.generation)
		return;
	told_generation = wt_process.generation;
	tell_driver();
	tell_libraries();
	errno = saved;
}
