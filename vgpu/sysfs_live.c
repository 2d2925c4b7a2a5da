// SPDX-License-Identifier: MIT
/*
 * Files whose contents change while the process lives: memory in use, activity, and the process's
 * own entry below kfd/proc. They are written anew whenever one of them is opened. A monitoring
 * tool in a process of its own sees its own GPU, on which nothing runs.
 */
#include "tree.h"
#include "queue.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROC "/sys/devices/virtual/kfd/kfd/proc"

/* A reader of the old contents keeps them: the new file takes the name. */
static void replace(struct vg_tree *t, const char *file, const void *data, size_t bytes)
{
	char temporary[256], from[512], to[512];

	snprintf(temporary, sizeof temporary, "/.new-%ld", syscall(SYS_gettid));
	vg_tree__data(t, temporary, data, bytes);
	snprintf(from, sizeof from, "%s%s", t->root, temporary);
	snprintf(to, sizeof to, "%s%s", t->root, file);
	if (t->err)
		return;
	if (rename(from, to) && errno == ENOENT) {
		vg_tree__data(t, file, "", 0); /* makes the directories */
		rename(from, to);
	}
}

static void replace_number(
	struct vg_tree *t, const char *dir, const char *name, unsigned long long number)
{
	char file[320], text[32];
	int n = snprintf(text, sizeof text, "%llu\n", number);

	snprintf(file, sizeof file, "%s/%s", dir, name);
	replace(t, file, text, (size_t)n);
}

/* 100 while a queue's thread is at work, which hardware averages over a second or so. */
static unsigned busy_percent(int gpu)
{
	struct vg_queue_table *table = __atomic_load_n(&vg_proc()->queue, __ATOMIC_ACQUIRE);
	unsigned busy = 0;

	if (!table || !vg_trylock(&table->lock))
		return 0;
	for (uint32_t i = 0; i < table->queue_end; i++) {
		const struct vg_queue *q = table->queues[i];

		if (q && q->gpu == gpu && atomic_load(&q->live) &&
			atomic_load(&q->state) == VG_Q_RUNNING)
			busy = 100;
	}
	vg_unlock(&table->lock);
	return busy;
}

void vg_sysfs__live(struct vg_tree *t, const struct vg_conf *conf)
{
	for (int i = 0; i < conf->gpu_cnt; i++) {
		uint64_t used = vg_mem__vram_used(i);
		unsigned busy = busy_percent(i);
		unsigned char metrics[1024];
		char dir[128], file[192];

		vg_pci_dir(i, dir, sizeof dir);
		replace_number(t, dir, "mem_info_vram_total", conf->model->vram_bytes);
		replace_number(t, dir, "mem_info_vis_vram_total", conf->model->vram_bytes);
		replace_number(t, dir, "mem_info_gtt_total", conf->model->vram_bytes);
		replace_number(t, dir, "mem_info_vram_used", used);
		replace_number(t, dir, "mem_info_vis_vram_used", used);
		replace_number(t, dir, "mem_info_gtt_used", 0);
		replace_number(t, dir, "gpu_busy_percent", busy);
		snprintf(file, sizeof file, "%s/gpu_metrics", dir);
		replace(t, file, metrics, vg_metrics(conf->model, busy, metrics, sizeof metrics));
		snprintf(dir, sizeof dir, VG_NODES "/%d/mem_banks/0", i + 1);
		replace_number(t, dir, "used_memory", used);
	}
}

/* ---- kfd/proc ---- */

static void put_queues(struct vg_tree *t, const char *dir, struct vg_queue_table *table)
{
	for (uint32_t i = 0; i < table->queue_end; i++) {
		const struct vg_queue *q = table->queues[i];
		char d[192];

		if (!q)
			continue;
		snprintf(d, sizeof d, "%s/queues/%u", dir, q->id);
		replace_number(t, d, "gpuid", VG_GPU_ID(q->gpu));
		replace_number(t, d, "size", q->ring_bytes);
		replace_number(t, d, "type", q->type);
	}
}

static bool has_queue(const struct vg_queue_table *table, const char *name)
{
	for (uint32_t i = 0; i < table->queue_end; i++)
		if (table->queues[i] && table->queues[i]->id == strtoul(name, NULL, 10))
			return true;
	return false;
}

static void drop_queues(struct vg_tree *t, const char *dir, struct vg_queue_table *table)
{
	static const char *const files[] = {"gpuid", "size", "type", ""};
	char path[512];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "%s%s/queues", t->root, dir);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || has_queue(table, e->d_name))
			continue;
		for (unsigned k = 0; k < sizeof files / sizeof *files; k++) {
			char file[sizeof path + sizeof e->d_name + 8];

			snprintf(file, sizeof file, "%s/%s/%s", path, e->d_name, files[k]);
			remove(file);
		}
	}
	if (d)
		closedir(d);
}

void vg_sysfs__proc(struct vg_tree *t, const struct vg_conf *conf)
{
	struct vg_proc *p = vg_proc();
	struct vg_queue_table *table = __atomic_load_n(&p->queue, __ATOMIC_ACQUIRE);
	char dir[64], name[96];

	if (atomic_load(&p->device_ready) != 2)
		return; /* it has not opened the device */
	snprintf(dir, sizeof dir, PROC "/%d", (int)getpid());
	replace_number(t, dir, "pasid", 32769);
	for (int i = 0; i < conf->gpu_cnt; i++) {
		snprintf(name, sizeof name, "vram_%u", VG_GPU_ID(i));
		replace_number(t, dir, name, vg_mem__vram_used(i));
		snprintf(name, sizeof name, "sdma_%u", VG_GPU_ID(i));
		replace_number(t, dir, name, 0);
		snprintf(name, sizeof name, "stats_%u/evicted_ms", VG_GPU_ID(i));
		replace_number(t, dir, name, 0);
		snprintf(name, sizeof name, "stats_%u/cu_occupancy", VG_GPU_ID(i));
		replace_number(t, dir, name, 0);
	}
	snprintf(name, sizeof name, "%s/queues", dir);
	vg_tree__dir(t, name);
	if (table && vg_trylock(&table->lock)) {
		put_queues(t, dir, table);
		drop_queues(t, dir, table);
		vg_unlock(&table->lock);
	}
}

void vg_sysfs__refresh(const char *path)
{
	static const char *const live[] = {
		"/mem_info_", "/used_memory", "/gpu_busy_percent", "/gpu_metrics"};
	struct vg_tree t = {.root = vg_root()};
	int saved = errno;

	if (!t.root)
		return;
	if (strstr(path, "/kfd/proc"))
		vg_sysfs__proc(&t, &vg_proc()->conf);
	for (unsigned i = 0; i < sizeof live / sizeof *live; i++)
		if (strstr(path, live[i])) {
			vg_sysfs__live(&t, &vg_proc()->conf);
			break;
		}
	errno = saved;
}
