// SPDX-License-Identifier: MIT
/*
 * Kernels with effect: functions from VGPU_KERNELS, called once a dispatch on the queue's thread. A
 * function that crashes ends the program, as it should; the handler here only says which one ran,
 * and leaves every other crash to whoever cared for it before.
 */
#include "kernel_file.h"
#include "vgpu.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <vgpu/kernels.h>

#define MAX_FILES 16

static const struct vgpu_kernels *files[MAX_FILES];
static unsigned file_cnt;

/* ---- which function crashed ---- */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define CRASH_CNT (sizeof crashes / sizeof *crashes)
static struct sigaction before[CRASH_CNT];
static _Thread_local const struct vgpu_dispatch *running;

static void on_crash(int sig, siginfo_t *info, void *context)
{
	const struct vgpu_dispatch *d = running;
	unsigned i = 0;

	while (i < CRASH_CNT - 1 && crashes[i] != sig)
		i++;
	if (d) {
		running = NULL;
		vg_trace("the function for kernel %s crashed (signal %d, %s; packet %llu of queue "
			 "%u on GPU %u)",
			d->kernel, sig, strsignal(sig), (unsigned long long)d->packet, d->queue,
			d->gpu);
		signal(sig, SIG_DFL); /* the instruction is tried again, and ends the process */
	} else if (before[i].sa_flags & SA_SIGINFO) {
		before[i].sa_sigaction(sig, info, context);
	} else if (before[i].sa_handler == SIG_DFL || before[i].sa_handler == SIG_IGN) {
		signal(sig, SIG_DFL);
		if (info->si_code <= 0)
			raise(sig); /* sent: it does not come by itself again */
	} else {
		before[i].sa_handler(sig);
	}
}

static void watch_crashes(void)
{
	struct sigaction a = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	static bool done;

	for (unsigned i = 0; i < CRASH_CNT && !done; i++)
		sigaction(crashes[i], &a, &before[i]);
	done = true; /* a forked child has it already */
}

/* ---- loading ---- */

int vg_effect__load(const char *list)
{
	char path[4096], why[512];

	file_cnt = 0;
	while (*list) {
		size_t n = strcspn(list, ":");

		if (n >= sizeof path || file_cnt == MAX_FILES) {
			vg_trace("VGPU_KERNELS: more than %d files, or too long a name", MAX_FILES);
			return -ELIBBAD;
		}
		memcpy(path, list, n);
		path[n] = 0;
		list += n + (list[n] == ':');
		if (!n)
			continue;
		files[file_cnt] = vg_kernels__open(path, why, sizeof why);
		if (!files[file_cnt]) {
			vg_trace("VGPU_KERNELS: %s", why);
			return -ELIBBAD;
		}
		file_cnt++;
	}
	watch_crashes();
	return 0;
}

/* The whole name before any pattern, then in the order of the files and their rows. */
const struct vgpu_kernel *vg_effect__find(const char *name)
{
	const struct vgpu_kernel *found = NULL;

	for (unsigned f = 0; f < file_cnt; f++)
		for (uint32_t i = 0; i < files[f]->cnt; i++) {
			const struct vgpu_kernel *k = &files[f]->kernels[i];

			if (!strcmp(k->name, name))
				return k;
			if (!found && strpbrk(k->name, "*?[") && !fnmatch(k->name, name, 0))
				found = k;
		}
	return found;
}

/* ---- running ---- */

static void *translate(const struct vgpu_dispatch *d, uint64_t address)
{
	struct vg_va_cache cache = {0};

	(void)d;
	return vg_va(address, &cache);
}

/* The head of a kernel's descriptor (LLVM's AMDGPU usage guide). */
struct descriptor {
	uint32_t group_bytes, private_bytes, kernarg_bytes;
};

static void block_crashes(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < CRASH_CNT; i++)
		sigaddset(&set, crashes[i]);
	pthread_sigmask(how, &set, NULL);
}

void vg_effect__run(struct vg_queue *q, const struct vg_kernel *k, uint64_t index,
	const struct abi_dispatch_packet *p)
{
	struct vgpu_arg args[VG_MAX_ARGS];
	struct vgpu_dispatch d = {.kernel = k->name,
		.arg_cnt = k->arg_cnt,
		.args = args,
		.dimensions = p->setup & 3,
		.group_bytes = p->group_segment_size,
		.private_bytes = p->private_segment_size,
		.gpu = (uint32_t)q->gpu,
		.queue = q->seq,
		.packet = index,
		.translate = translate};
	struct descriptor fixed;

	memcpy(&fixed, vg_va(k->object, &q->va_data), sizeof fixed);
	d.kernarg_bytes = fixed.kernarg_bytes;
	if (p->kernarg_address)
		d.kernarg = vg_va(p->kernarg_address, &q->va_data);
	if (p->group_segment_size > fixed.group_bytes)
		d.dynamic_group_bytes = p->group_segment_size - fixed.group_bytes;
	for (unsigned i = 0; i < 3; i++) {
		d.grid[i] = p->grid[i] ? p->grid[i] : 1;
		d.workgroup[i] = p->workgroup[i] ? p->workgroup[i] : 1;
	}
	for (unsigned i = 0; i < k->arg_cnt; i++)
		args[i] = (struct vgpu_arg){k->arg_offset[i], k->arg_size[i]};
	running = &d;
	block_crashes(SIG_UNBLOCK);
	k->user->run(&d);
	block_crashes(SIG_BLOCK);
	running = NULL;
}
