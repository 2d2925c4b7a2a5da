// SPDX-License-Identifier: MIT
/*
 * From a kernel object to what is known of the kernel. Each queue has a small cache; the table
 * behind it is per process. An entry is trusted until new code was loaded (ROCr then sends an
 * instruction-cache invalidation) or its memory was freed; then it is read again and compared.
 */
#include "vgpu.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS    1024
#define MAX_IMAGE  (256ull << 20) /* how far the ELF header may lie before the descriptor */
#define NAME_BYTES 8192           /* mangled C++ names are long */
#define CACHE_SIZE (sizeof(((struct vg_queue *)0)->kcache) / sizeof(struct vg_kernel *))

struct vg_code_state {
	struct vg_lock lock;
	_Atomic uint32_t gen;
	uint32_t last_id;
	struct vg_kernel *table[BUCKETS];
	char name[NAME_BYTES];
};

static struct vg_code_state *state(void)
{
	return vg_part(&vg_proc()->code, sizeof(struct vg_code_state));
}

static bool read_code_object(struct vg_kernel *k, char *name)
{
	uint64_t base, size, page;

	if (!vg_mem__range(k->object, &base, &size))
		return false;
	page = k->object & ~0xfffull;
	for (; page >= base && k->object - page < MAX_IMAGE; page -= 4096) {
		if (vg_elf__kernel(page, base + size - page, k->object, name, NAME_BYTES,
			    &k->arg_cnt, k->arg_offset, k->arg_size))
			return true;
		if (page < 4096)
			break;
	}
	return false;
}

/* CLR's kernels that move data, by name (the number of arguments tells the generation). */
void vg_kernel__classify(struct vg_kernel *k, bool has_elf)
{
	static const struct {
		const char *name;
		enum vg_effect effect;
		bool aligned;
	} known[] = {
		{"__amd_rocclr_copyBuffer", VG_EFFECT_COPY, false},
		{"__amd_rocclr_copyBufferAligned", VG_EFFECT_COPY, true},
		{"__amd_rocclr_copyBufferRect", VG_EFFECT_COPY_RECT, false},
		{"__amd_rocclr_copyBufferRectAligned", VG_EFFECT_COPY_RECT, true},
		{"__amd_rocclr_fillBuffer", VG_EFFECT_FILL, false},
		{"__amd_rocclr_fillBufferAligned", VG_EFFECT_FILL, true},
		{"__amd_rocclr_fillBufferAligned2D", VG_EFFECT_FILL_2D, true},
		{"__amd_rocclr_streamOpsWrite", VG_EFFECT_STREAM_WRITE, false},
		{"__amd_rocclr_streamOpsWait", VG_EFFECT_STREAM_WAIT, false},
		{"__amd_rocclr_batchMemOp", VG_EFFECT_STREAM_BATCH, false},
	};

	k->effect = has_elf ? VG_EFFECT_NONE : VG_EFFECT_RAW;
	for (unsigned i = 0; has_elf && i < sizeof known / sizeof *known; i++)
		if (!strcmp(k->name, known[i].name)) {
			k->effect = known[i].effect;
			k->aligned = known[i].aligned;
		}
}

static void resolve(struct vg_code_state *s, struct vg_queue *q, struct vg_kernel *k)
{
	struct vg_proc *p = vg_proc();
	bool has_elf = read_code_object(k, s->name);

	k->name = has_elf ? strdup(s->name) : NULL;
	if (has_elf && !k->name)
		has_elf = false;
	vg_kernel__classify(k, has_elf);
	k->time = *vg_kernel_times__find(&p->conf.kernel, has_elf ? k->name : "", &k->own_time);
	k->key = vg_key_of_text(p->conf.kernel.seed, has_elf ? k->name : "");
	if (has_elf && !k->own_time) {
		k->samples = vg_recorded(k->name);
		k->own_time = k->samples != NULL;
	}
	k->user = k->name ? vg_effect__find(k->name) : NULL;
	if (k->name)
		vg_spool__name(&p->spool, &q->spool, k->id, k->name);
	TRACE(1, "kernel %s object 0x%llx effect %d, %u arguments",
		k->name ? k->name : "(no code object)", (unsigned long long)k->object, k->effect,
		k->arg_cnt);
}

/* Is what lies there now still what the entry says? */
static bool still_valid(struct vg_code_state *s, const struct vg_kernel *k)
{
	struct vg_kernel now = {.object = k->object};
	bool has_elf = read_code_object(&now, s->name);

	return has_elf ? k->name && !strcmp(k->name, s->name) && k->arg_cnt == now.arg_cnt
		       : !k->name;
}

static struct vg_kernel *look_up(
	struct vg_code_state *s, struct vg_queue *q, uint64_t object, uint32_t gen)
{
	struct vg_kernel **bucket = &s->table[(object >> 6) % BUCKETS], *k;

	for (k = *bucket; k; k = k->next)
		if (k->object == object && !k->dead)
			break;
	if (k && k->gen != gen) {
		if (still_valid(s, k))
			k->gen = gen;
		else
			k->dead = true; /* kept: packets in flight may still name it */
	}
	if (k && !k->dead)
		return k;
	k = calloc(1, sizeof *k);
	if (!k)
		return NULL;
	k->object = object;
	k->gen = gen;
	k->id = ++s->last_id;
	resolve(s, q, k);
	k->next = *bucket;
	*bucket = k;
	return k;
}

const struct vg_kernel *vg_kernel__find(struct vg_queue *q, uint64_t object)
{
	static const struct vg_kernel unknown;
	struct vg_code_state *s = state();
	unsigned slot = (unsigned)(object >> 6) % CACHE_SIZE;
	const struct vg_kernel *k;
	uint32_t gen;

	if (!s)
		return &unknown;
	gen = atomic_load_explicit(&s->gen, memory_order_acquire);
	if (q->kcache_gen != gen) {
		memset(q->kcache, 0, sizeof q->kcache);
		q->kcache_gen = gen;
	}
	k = q->kcache[slot];
	if (k && k->object == object)
		return k;
	vg_lock(&s->lock);
	k = look_up(s, q, object, gen);
	vg_unlock(&s->lock);
	if (!k)
		return &unknown;
	q->kcache[slot] = k;
	return k;
}

/* How often the queue has run the kernel before; a count that cannot be kept stays 0. */
static uint32_t count_run(struct vg_queue *q, uint32_t id)
{
	if (id >= q->run_cap) {
		uint32_t cap = id * 2 + 64, *runs = realloc(q->runs, cap * sizeof *runs);

		if (!runs)
			return 0;
		memset(runs + q->run_cap, 0, (cap - q->run_cap) * sizeof *runs);
		q->runs = runs;
		q->run_cap = cap;
	}
	return q->runs[id]++;
}

uint64_t vg_kernel__ns(struct vg_queue *q, const struct vg_kernel *k)
{
	uint64_t key, run;

	if (k->time.shape == VG_FIXED && !k->samples)
		return k->time.ns;
	run = count_run(q, k->id);
	key = vg_key(vg_key(vg_key(k->key, (uint64_t)q->gpu), q->seq), run);
	if (!k->samples)
		return vg_duration__draw(&k->time, key);
	return k->samples->ns[(vg_proc()->conf.draw_durations ? key : run) % k->samples->cnt];
}

void vg_kernel__invalidate(void)
{
	struct vg_code_state *s = state();

	if (s)
		atomic_fetch_add_explicit(&s->gen, 1, memory_order_release);
}

void vg_kernel__forget(uint64_t va, uint64_t size)
{
	struct vg_code_state *s = __atomic_load_n(&vg_proc()->code, __ATOMIC_ACQUIRE);
	bool any = false;

	if (!s)
		return;
	vg_lock(&s->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct vg_kernel *k = s->table[i]; k; k = k->next)
			if (!k->dead && k->object - va < size)
				any = k->dead = true;
	vg_unlock(&s->lock);
	if (any)
		vg_kernel__invalidate();
}
