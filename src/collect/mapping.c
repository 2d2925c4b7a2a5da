// SPDX-License-Identifier: MIT
#include "collect/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Changed by the one thread that maps; read by the handler on that same thread. */
static struct wt_mapping *mappings;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)context;
	for (struct wt_mapping *m = mappings; m; m = m->next) {
		uintptr_t start = (uintptr_t)m->address;

		if (at < start || at >= start + m->bytes)
			continue;
		m->lost = 1;
		/* all of it: half a ring is of no use, and the rest would fault, too */
		at = start;
		if (mmap((void *)at, (m->bytes + page - 1) & ~(page - 1), PROT_READ | PROT_WRITE,
			    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
			return;
	}
	/* not ours: what would have happened without the handler */
	signal(number, SIG_DFL);
	raise(number);
}

int wt_mapping__guard(void)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};

	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

int wt_mapping__open(struct wt_mapping *mapping, int fd, size_t min_bytes, size_t max_bytes)
{
	struct stat st;
	int rc = -EINVAL;

	memset(mapping, 0, sizeof(*mapping));
	if (fd < 0)
		return -EINVAL;
	/* refused on files that are not memfds, or not made for sealing: the handler stays */
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		st.st_size < (off_t)min_bytes || st.st_size > (off_t)max_bytes)
		goto out;
	mapping->bytes = (size_t)st.st_size;
	mapping->address = mmap(NULL, mapping->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapping->address == MAP_FAILED) {
		rc = -errno;
		memset(mapping, 0, sizeof(*mapping));
		goto out;
	}
	mapping->next = mappings;
	mapping->prev = &mappings;
	if (mappings)
		mappings->prev = &mapping->next;
	mappings = mapping;
	rc = 0;
out:
	close(fd);
	return rc;
}

void wt_mapping__close(struct wt_mapping *mapping)
{
	if (!mapping->address)
		return;
	*mapping->prev = mapping->next;
	if (mapping->next)
		mapping->next->prev = mapping->prev;
	munmap(mapping->address, mapping->bytes);
	memset(mapping, 0, sizeof(*mapping));
}
