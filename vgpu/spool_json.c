// SPDX-License-Identifier: MIT
/* The reading side of the log: one spool file to JSON lines, described in docs/VGPU.md. */
#include "spool.h"
#include "fault.h"
#include "timing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT sizeof(struct vg_rec)

struct entry {
	uint64_t start; /* system time: the order of the lines */
	const struct vg_rec *rec;
};

struct view {
	const char *map;
	uint64_t size;
	const struct vg_spool_header *h;
	struct entry *recs;
	size_t rec_cnt, rec_cap;
	const struct vg_rec_name **names; /* by id */
	uint32_t name_cap;
	FILE *out;
	uint64_t lines;
};

/* ---- text ---- */

static void put_u64(FILE *out, uint64_t v)
{
	char buf[24], *p = buf + sizeof buf;

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	fwrite(p, 1, (size_t)(buf + sizeof buf - p), out);
}

static void field(FILE *out, const char *name, uint64_t v)
{
	fputs(",\"", out);
	fputs(name, out);
	fputs("\":", out);
	put_u64(out, v);
}

static void put_string(FILE *out, const char *s, size_t len)
{
	putc('"', out);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

static void put_bool(FILE *out, const char *name, bool v)
{
	fprintf(out, ",\"%s\":%s", name, v ? "true" : "false");
}

/* ---- records ---- */

static const struct {
	const char *kind;
	const char *detail; /* what "barrier" says */
	bool dispatch;      /* has a kernel, if it was not the copy engine */
} kinds[] = {
	[VG_REC_DISPATCH] = {"dispatch", NULL, true},
	[VG_REC_COPY] = {"copy", NULL, true},
	[VG_REC_FILL] = {"fill", NULL, true},
	[VG_REC_BARRIER_AND] = {"barrier", "and", false},
	[VG_REC_BARRIER_OR] = {"barrier", "or", false},
	[VG_REC_BARRIER_VALUE] = {"barrier", "value", false},
	[VG_REC_PM4] = {"pm4", NULL, false},
	[VG_REC_AGENT] = {"agent", NULL, false},
	[VG_REC_UNKNOWN] = {"unknown", NULL, false},
};

static void put_kernel(struct view *v, const struct vg_rec *r)
{
	const struct vg_rec_name *n = r->kernel < v->name_cap ? v->names[r->kernel] : NULL;

	fputs(",\"kernel\":", v->out);
	if (n)
		put_string(v->out, n->text, n->length);
	else
		fputs("null", v->out);
	field(v->out, "kernel_object", r->kernel_object);
	fprintf(v->out, ",\"grid\":[%u,%u,%u],\"workgroup\":[%u,%u,%u]", r->grid[0], r->grid[1],
		r->grid[2], r->workgroup[0], r->workgroup[1], r->workgroup[2]);
	field(v->out, "group_segment", r->group_segment);
	field(v->out, "private_segment", r->private_segment);
	fputs(",\"kernarg\":", v->out);
	if (r->kernarg_bytes == sizeof r->kernarg) {
		putc('"', v->out);
		for (unsigned i = 0; i < sizeof r->kernarg; i++)
			fprintf(v->out, "%02x", r->kernarg[i]);
		putc('"', v->out);
	} else {
		fputs("null", v->out);
	}
}

/* When it was, for the program. */
static uint64_t system_time(const struct view *v, unsigned gpu, uint64_t time)
{
	const struct vg_clock *c = &v->h->clock;

	return vg_clock__system(c, vg_clock__machine(c, gpu, time));
}

static void put_place(FILE *out, const char *address_name, uint64_t address, const char *gpu_name,
	unsigned gpu)
{
	field(out, address_name, address);
	if (gpu)
		field(out, gpu_name, gpu - 1);
	else
		fprintf(out, ",\"%s\":null", gpu_name);
}

static void put_places(struct view *v, const struct vg_rec *r)
{
	if (r->kind == VG_REC_COPY)
		put_place(v->out, "source", r->source, "source_gpu", r->source_gpu);
	if (r->kind == VG_REC_COPY || r->kind == VG_REC_FILL)
		put_place(v->out, "target", r->target, "target_gpu", r->target_gpu);
}

static void put_record(struct view *v, const struct entry *e)
{
	const struct vg_rec *r = e->rec;
	bool done = __atomic_load_n((const uint32_t *)&r->done, __ATOMIC_ACQUIRE);
	bool sdma = r->flags & VG_REC_SDMA;

	fprintf(v->out, "{\"kind\":\"%s\"", kinds[r->kind].kind);
	if (kinds[r->kind].detail)
		fprintf(v->out, ",\"barrier\":\"%s\"", kinds[r->kind].detail);
	field(v->out, "pid", v->h->pid);
	field(v->out, "gpu", r->gpu);
	field(v->out, "queue", r->queue);
	field(v->out, "index", r->index);
	fprintf(v->out, ",\"engine\":\"%s\"", sdma ? "sdma" : "compute");
	if (kinds[r->kind].dispatch && !sdma)
		put_kernel(v, r);
	put_places(v, r);
	put_bool(v->out, "barrier_bit", r->flags & VG_REC_BARRIER_BIT);
	field(v->out, "start", e->start);
	field(v->out, "start_ticks", vg_clock__ticks(&v->h->clock, r->gpu, r->start));
	if (done) {
		field(v->out, "end", system_time(v, r->gpu, r->end));
		field(v->out, "end_ticks", vg_clock__ticks(&v->h->clock, r->gpu, r->end));
	} else {
		fputs(",\"end\":null,\"end_ticks\":null", v->out);
	}
	if (r->kind == VG_REC_COPY && r->way < VG_WAY_CNT)
		fprintf(v->out, ",\"direction\":\"%s\"", vg_way_name(r->way));
	field(v->out, "bytes", r->bytes);
	field(v->out, "signal", r->signal);
	put_bool(v->out, "stamped", r->flags & VG_REC_STAMPED);
	put_bool(v->out, "interrupt", r->flags & VG_REC_INTERRUPT);
	if (r->flags & VG_REC_BARE)
		put_bool(v->out, "bare", true);
	fputs("}\n", v->out);
	v->lines++;
}

static void time_or_null(FILE *out, const char *name, uint64_t ns)
{
	if (ns)
		field(out, name, ns);
	else
		fprintf(out, ",\"%s\":null", name);
}

static void put_setting(FILE *out, const struct vg_queue_setting *s, bool compute)
{
	unsigned words = s->mask_bits / 32;

	field(out, "priority", s->priority);
	field(out, "percentage", s->percentage);
	if (!compute)
		return;
	field(out, "cus", s->cus);
	fprintf(out, ",\"cu_mask\":%s", words ? "\"" : "null");
	if (words > sizeof s->mask / sizeof *s->mask)
		words = sizeof s->mask / sizeof *s->mask;
	for (unsigned i = words; i--;)
		fprintf(out, "%08x", s->mask[i]);
	if (words)
		putc('"', out);
}

static void put_queue(struct view *v, const struct vg_rec_queue *q)
{
	uint64_t first = __atomic_load_n(&q->first_ns, __ATOMIC_ACQUIRE);
	uint64_t destroyed = __atomic_load_n(&q->destroyed_ns, __ATOMIC_ACQUIRE);
	const struct vg_clock *c = &v->h->clock;

	fputs("{\"kind\":\"queue\"", v->out);
	field(v->out, "pid", v->h->pid);
	field(v->out, "gpu", q->gpu);
	field(v->out, "queue", q->queue);
	fprintf(v->out, ",\"engine\":\"%s\"", q->sdma ? "sdma" : "compute");
	if (!q->sdma) {
		field(v->out, "hsa_queue", q->hsa_queue);
		if (first)
			field(v->out, "hsa_queue_id", q->hsa_id);
		else
			fputs(",\"hsa_queue_id\":null", v->out);
	}
	field(v->out, "ring_bytes", q->ring_bytes);
	field(v->out, "created", vg_clock__system(c, q->created_ns));
	time_or_null(v->out, "first", first ? system_time(v, q->gpu, first) : 0);
	time_or_null(v->out, "destroyed", destroyed ? vg_clock__system(c, destroyed) : 0);
	put_setting(v->out, &q->setting, !q->sdma);
	fputs("}\n", v->out);
	v->lines++;
}

static void put_queue_change(struct view *v, const struct vg_rec_queue_change *c)
{
	static const char *const names[] = {"priority", "percentage", "cu_mask"};
	const char *comma = "";

	fputs("{\"kind\":\"queue_change\"", v->out);
	field(v->out, "pid", v->h->pid);
	field(v->out, "gpu", c->gpu);
	field(v->out, "queue", c->queue);
	field(v->out, "time", vg_clock__system(&v->h->clock, c->at_ns));
	fputs(",\"changed\":[", v->out);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (c->changed >> i & 1) {
			fprintf(v->out, "%s\"%s\"", comma, names[i]);
			comma = ",";
		}
	putc(']', v->out);
	put_setting(v->out, &c->setting, true);
	fputs("}\n", v->out);
	v->lines++;
}

static void signed_field(FILE *out, const char *name, int64_t v)
{
	fprintf(out, ",\"%s\":%lld", name, (long long)v);
}

/* The constants that the times follow, so that a reader can say how far a conversion may be off. */
static void put_clock(struct view *v, const struct vg_clock *c)
{
	static const char *const counters[] = {"resets", "stands", "continues"};

	field(v->out, "epoch", vg_clock__system(c, c->epoch_ns));
	fputs(",\"suspends\":[", v->out);
	for (unsigned i = 0; i < c->suspend_cnt; i++) {
		uint64_t at = c->epoch_ns + c->suspends[i].at_ns;

		fprintf(v->out, "%s{\"counter\":\"%s\"", i ? "," : "", counters[c->counter]);
		field(v->out, "slept_ns", c->suspends[i].for_ns);
		field(v->out, "resumed", vg_clock__system(c, at));
		putc('}', v->out);
	}
	fputs("],\"clocks\":[", v->out);
	for (unsigned i = 0; i < v->h->gpu_cnt; i++) {
		const struct vg_clock_gpu *g = &c->gpus[i];

		fprintf(v->out, "%s{\"gpu\":%u", i ? "," : "", i);
		field(v->out, "khz", g->khz);
		signed_field(v->out, "offset_ns", g->offset_ns);
		signed_field(v->out, "ppb", g->ppb);
		signed_field(v->out, "drift_ppb", g->drift_ppb);
		field(v->out, "drift_ns", g->drift_ns);
		signed_field(v->out, "steps_ppb", g->steps_ppb);
		field(v->out, "steps_ns", g->steps_ns);
		field(v->out, "jitter_ns", g->jitter_ns);
		putc('}', v->out);
	}
	putc(']', v->out);
}

static int put_fault(struct view *v, const struct vg_rec_fault *f)
{
	const struct vg_fault_kind_info *kind;

	if (f->fault >= VG_FAULT_KINDS || f->gpu >= VG_CLOCK_GPUS)
		return -EPROTO;
	kind = &vg_fault_kinds[f->fault];
	fprintf(v->out, "{\"kind\":\"fault\",\"fault\":\"%s\"", kind->name);
	field(v->out, "pid", v->h->pid);
	field(v->out, "gpu", f->gpu);
	if (f->has_packet) {
		field(v->out, "queue", f->queue);
		field(v->out, "index", f->index);
	}
	field(v->out, "time", system_time(v, f->gpu, f->time));
	if (f->fault == VG_FAULT_STALL && f->value != VG_FAULT_FOREVER)
		field(v->out, kind->value, system_time(v, f->gpu, f->value));
	else if (kind->value && f->value == VG_FAULT_FOREVER)
		fprintf(v->out, ",\"%s\":null", kind->value);
	else if (kind->value)
		field(v->out, kind->value, f->value);
	fputs(",\"rule\":", v->out);
	if (*f->rule)
		put_string(v->out, f->rule, strnlen(f->rule, sizeof f->rule));
	else /* nobody asked for it */
		fputs("null", v->out);
	fputs("}\n", v->out);
	v->lines++;
	return 0;
}

static void put_process(struct view *v)
{
	const struct vg_spool_header *h = v->h;

	fputs("{\"kind\":\"process\"", v->out);
	field(v->out, "pid", h->pid);
	field(v->out, "pid_start", h->pid_start);
	field(v->out, "image", h->image);
	fputs(",\"name\":", v->out);
	put_string(v->out, h->name, strnlen(h->name, sizeof h->name));
	fputs(",\"arch\":", v->out);
	put_string(v->out, h->arch, strnlen(h->arch, sizeof h->arch));
	field(v->out, "gpus", h->gpu_cnt);
	field(v->out, "opened", vg_clock__system(&h->clock, h->opened_ns));
	field(v->out, "packets", v->rec_cnt);
	field(v->out, "lost", h->lost);
	field(v->out, "bare", h->bare);
	field(v->out, "cpu_ns", h->cpu_ns);
	field(v->out, "interrupts", h->interrupts);
	put_clock(v, &h->clock);
	put_bool(v->out, "ended", h->ended == 1);
	put_bool(v->out, "emulated", true);
	fputs("}\n", v->out);
	v->lines++;
}

/* ---- the file ---- */

static int add_name(struct view *v, const struct vg_rec_name *n, uint64_t room)
{
	uint64_t bytes = offsetof(struct vg_rec_name, text) + (uint64_t)n->length;

	if (!n->slots || n->slots > room / SLOT || bytes > n->slots * SLOT || n->id > 1u << 24)
		return -EPROTO;
	if (n->id >= v->name_cap) {
		uint32_t cap = n->id * 2 + 64;
		const struct vg_rec_name **p = realloc(v->names, cap * sizeof *p);

		if (!p)
			return -ENOMEM;
		memset(p + v->name_cap, 0, (cap - v->name_cap) * sizeof *p);
		v->names = p;
		v->name_cap = cap;
	}
	v->names[n->id] = n;
	return 0;
}

static int add_record(struct view *v, const struct vg_rec *r)
{
	if (v->rec_cnt == v->rec_cap) {
		size_t cap = v->rec_cap ? v->rec_cap * 2 : 1024;
		struct entry *p = realloc(v->recs, cap * sizeof *p);

		if (!p)
			return -ENOMEM;
		v->recs = p;
		v->rec_cap = cap;
	}
	v->recs[v->rec_cnt++] = (struct entry){system_time(v, r->gpu, r->start), r};
	return 0;
}

static int read_block(struct view *v, const char *block, uint64_t bytes)
{
	int err;

	for (uint64_t at = 0; at + SLOT <= bytes;) {
		const struct vg_rec *r = (const void *)(block + at);
		uint8_t kind = r->kind;
		uint64_t slots = 1;

		if (kind == VG_REC_NONE)
			return 0; /* one writer, in order: nothing follows */
		if (kind == VG_REC_KERNEL) {
			err = add_name(v, (const void *)r, bytes - at);
			slots = ((const struct vg_rec_name *)(const void *)r)->slots;
		} else if (kind == VG_REC_QUEUE &&
			   ((const struct vg_rec_queue *)(const void *)r)->gpu < VG_CLOCK_GPUS) {
			put_queue(v, (const void *)r);
			err = 0;
		} else if (kind == VG_REC_QUEUE_CHANGE) {
			put_queue_change(v, (const void *)r);
			err = 0;
		} else if (kind == VG_REC_FAULT) {
			err = put_fault(v, (const void *)r);
		} else if (kind < sizeof kinds / sizeof *kinds && r->gpu < VG_CLOCK_GPUS) {
			err = add_record(v, r);
		} else {
			err = -EPROTO;
		}
		if (err)
			return err;
		at += slots * SLOT;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rec->queue != y->rec->queue)
		return x->rec->queue < y->rec->queue ? -1 : 1;
	return x->rec->index < y->rec->index ? -1 : x->rec->index > y->rec->index;
}

/* What the conversions rely on. */
static bool is_sane(const struct vg_spool_header *h)
{
	const struct vg_clock *c = &h->clock;

	if (h->gpu_cnt > VG_CLOCK_GPUS || c->suspend_cnt > VG_CLOCK_SUSPENDS ||
		c->counter > VG_COUNTER_CONTINUES)
		return false;
	for (unsigned i = 0; i < VG_CLOCK_GPUS; i++) {
		const struct vg_clock_gpu *g = &c->gpus[i];
		const int64_t rates[] = {g->ppb, g->drift_ppb, g->steps_ppb};

		if (!g->khz || g->drift_ns > VG_CLOCK_MAX_NS || g->steps_ns > VG_CLOCK_MAX_NS)
			return false;
		for (unsigned r = 0; r < 3; r++)
			if (rates[r] > VG_CLOCK_MAX_PPB || rates[r] < -VG_CLOCK_MAX_PPB)
				return false;
	}
	return true;
}

static int convert(struct view *v)
{
	const struct vg_spool_header *h = v->h;
	uint32_t blocks = h->blocks;
	int err = 0;

	if (v->size < VG_SPOOL_HEADER_BYTES || h->magic != VG_SPOOL_MAGIC || h->version != 2 ||
		h->record_bytes != SLOT || h->block_bytes != VG_SPOOL_BLOCK_BYTES || !is_sane(h))
		return -EPROTO;
	for (uint32_t i = 0; i < blocks && i < VG_SPOOL_MAX_BLOCKS; i++) {
		uint64_t at = VG_SPOOL_HEADER_BYTES + (uint64_t)i * VG_SPOOL_BLOCK_BYTES;
		int e;

		if (at >= v->size)
			break;
		e = read_block(v, v->map + at,
			v->size - at < VG_SPOOL_BLOCK_BYTES ? v->size - at : VG_SPOOL_BLOCK_BYTES);
		if (e == -ENOMEM)
			return e;
		if (e)
			err = e; /* the other blocks are still good */
	}
	if (v->rec_cnt)
		qsort(v->recs, v->rec_cnt, sizeof *v->recs, by_start);
	for (size_t i = 0; i < v->rec_cnt; i++)
		put_record(v, &v->recs[i]);
	put_process(v);
	return ferror(v->out) ? -EIO : err;
}

int vg_spool__to_json(const char *path, FILE *out, uint64_t *lines)
{
	struct view v = {.out = out};
	struct stat st;
	void *map;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_size < (off_t)VG_SPOOL_HEADER_BYTES) {
		close(fd);
		return -EPROTO;
	}
	v.size = (uint64_t)st.st_size;
	map = mmap(NULL, v.size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -errno;
	v.map = map;
	v.h = map;
	err = convert(&v);
	*lines += v.lines;
	munmap(map, v.size);
	free(v.recs);
	free(v.names);
	return err;
}
