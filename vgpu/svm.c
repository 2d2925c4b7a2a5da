// SPDX-License-Identifier: MIT
/*
 * The SVM call: attributes of ranges of the program's own memory, by which it gives GPUs access to
 * them. There is one address space and no memory moves, so what is left is to know the attributes,
 * and what a GPU may reach. The driver hears of unmapped memory; here a range stays until a buffer
 * takes its place, so whoever wants to access it has to look whether it is mapped.
 */
#include "vgpu.h"

#include <errno.h>
#include <linux/kfd_ioctl.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_RANGES  (1u << 16) /* address space only */
#define GRANULARITY 9          /* log2 of pages: the driver's default */
#define UNDEFINED   KFD_IOCTL_SVM_LOCATION_UNDEFINED

struct attributes {
	uint32_t preferred, prefetch, flags;
	uint8_t granularity;
	uint8_t access, in_place; /* a bit a GPU, in one of both */
};

struct range {
	uint64_t start, end;
	struct attributes at;
};

struct vg_svm_state {
	struct vg_lock lock;
	uint32_t cnt;
	struct range range[MAX_RANGES]; /* sorted, none overlaps another */
};

static const struct attributes unset = {.preferred = UNDEFINED,
	.prefetch = UNDEFINED,
	.flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT,
	.granularity = GRANULARITY};

static struct vg_svm_state *state(void)
{
	return vg_part(&vg_proc()->svm, sizeof(struct vg_svm_state));
}

/* First range that ends above va. */
static uint32_t first_above(const struct vg_svm_state *s, uint64_t va)
{
	uint32_t lo = 0, hi = s->cnt;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->range[mid].end <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void insert(struct vg_svm_state *s, uint32_t i, struct range r)
{
	memmove(&s->range[i + 1], &s->range[i], (s->cnt - i) * sizeof r);
	s->range[i] = r;
	s->cnt++;
}

static void take_out(struct vg_svm_state *s, uint32_t i, uint32_t end)
{
	memmove(&s->range[i], &s->range[end], (s->cnt - end) * sizeof *s->range);
	s->cnt -= end - i;
}

/* Lets a range begin at va, if one covers it. */
static void split(struct vg_svm_state *s, uint64_t va)
{
	uint32_t i = first_above(s, va);
	struct range right;

	if (i == s->cnt || s->range[i].start >= va)
		return;
	right = s->range[i];
	right.start = va;
	s->range[i].end = va;
	insert(s, i + 1, right);
}

/* Neighbours that say the same become one, from i - 1 to `end`. */
static void join(struct vg_svm_state *s, uint32_t i, uint32_t end)
{
	for (i += !i; i <= end && i < s->cnt;) {
		struct range *a = &s->range[i - 1], *b = &s->range[i];

		if (a->end == b->start && !memcmp(&a->at, &b->at, sizeof a->at)) {
			a->end = b->end;
			take_out(s, i, i + 1);
			end--;
		} else {
			i++;
		}
	}
}

static void apply(struct attributes *at, const struct kfd_ioctl_svm_attribute *a)
{
	uint8_t gpu = (uint8_t)(1u << (vg_gpu_index(a->value) & 7));

	switch (a->type) {
	case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
		at->preferred = a->value;
		break;
	case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
		at->prefetch = a->value;
		break;
	case KFD_IOCTL_SVM_ATTR_ACCESS:
	case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
	case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
		at->access &= (uint8_t)~gpu;
		at->in_place &= (uint8_t)~gpu;
		if (a->type == KFD_IOCTL_SVM_ATTR_ACCESS)
			at->access |= gpu;
		else if (a->type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE)
			at->in_place |= gpu;
		break;
	case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
		at->flags |= a->value;
		break;
	case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
		at->flags &= ~a->value;
		break;
	default: /* GRANULARITY */
		at->granularity = (a->value & 0x3f) < 0x1b ? a->value & 0x3f : 0x1b;
	}
}

static bool is_settable(const struct kfd_ioctl_svm_attribute *a)
{
	switch (a->type) {
	case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
		return a->value == KFD_IOCTL_SVM_LOCATION_SYSMEM || a->value == UNDEFINED ||
		       vg_gpu_index(a->value) >= 0;
	case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
		return a->value == KFD_IOCTL_SVM_LOCATION_SYSMEM || vg_gpu_index(a->value) >= 0;
	case KFD_IOCTL_SVM_ATTR_ACCESS:
	case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
	case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
		return vg_gpu_index(a->value) >= 0;
	default:
		return a->type <= KFD_IOCTL_SVM_ATTR_GRANULARITY;
	}
}

/* A call that changes nothing and fails where nothing is mapped. */
static bool is_mapped(uint64_t start, uint64_t size)
{
	return !msync((void *)(uintptr_t)start, size, MS_ASYNC);
}

static int set(struct vg_svm_state *s, uint64_t start, uint64_t end,
	const struct kfd_ioctl_svm_attribute *a, uint32_t cnt)
{
	uint64_t va = start;
	uint32_t first, i;

	for (i = 0; i < cnt; i++)
		if (!is_settable(&a[i]))
			return -EINVAL;
	/* each range in it may get one before it, and two are split */
	if (s->cnt + (first_above(s, end) - first_above(s, start)) + 4 > MAX_RANGES)
		return -ENOMEM;
	split(s, start);
	split(s, end);
	first = i = first_above(s, start);
	while (va < end) {
		if (i == s->cnt || s->range[i].start > va) {
			uint64_t to =
				i < s->cnt && s->range[i].start < end ? s->range[i].start : end;

			insert(s, i, (struct range){va, to, unset});
		}
		for (uint32_t n = 0; n < cnt; n++)
			apply(&s->range[i].at, &a[n]);
		va = s->range[i++].end;
	}
	join(s, first, i);
	return 0;
}

static uint32_t common(uint32_t one, uint32_t other)
{
	return one == other ? one : UNDEFINED;
}

static int get(struct vg_svm_state *s, uint64_t start, uint64_t end,
	struct kfd_ioctl_svm_attribute *a, uint32_t cnt)
{
	uint32_t i = first_above(s, start), any_flags;
	struct attributes all = unset;

	any_flags = all.flags;
	if (i < s->cnt && s->range[i].start < end) {
		all = s->range[i].at;
		any_flags = all.flags;
	}
	for (; i < s->cnt && s->range[i].start < end; i++) {
		const struct attributes *at = &s->range[i].at;

		all.preferred = common(all.preferred, at->preferred);
		all.prefetch = common(all.prefetch, at->prefetch);
		all.flags &= at->flags;
		any_flags |= at->flags;
		all.access &= at->access;
		all.in_place &= at->in_place;
		if (at->granularity < all.granularity)
			all.granularity = at->granularity;
	}
	for (uint32_t n = 0; n < cnt; n++) {
		int gpu = vg_gpu_index(a[n].value);

		switch (a[n].type) {
		case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
			a[n].value = all.preferred;
			break;
		case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
			a[n].value = all.prefetch;
			break;
		case KFD_IOCTL_SVM_ATTR_ACCESS:
			if (gpu < 0)
				return -EINVAL;
			if (all.in_place >> gpu & 1)
				a[n].type = KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE;
			else if (!(all.access >> gpu & 1))
				a[n].type = KFD_IOCTL_SVM_ATTR_NO_ACCESS;
			break;
		case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
			a[n].value = all.flags;
			break;
		case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
			a[n].value = ~any_flags;
			break;
		case KFD_IOCTL_SVM_ATTR_GRANULARITY:
			a[n].value = all.granularity;
			break;
		default:
			return -EINVAL;
		}
	}
	return 0;
}

int vg_svm__call(void *arg, uint32_t bytes)
{
	struct kfd_ioctl_svm_args *a = arg;
	struct vg_svm_state *s = state();
	uint64_t end;
	int err;

	if (!vg_proc()->conf.svm)
		return -EPERM; /* as a kernel that was built without it */
	if (!s)
		return -ENOMEM;
	if (bytes < sizeof *a || a->nattr > (bytes - sizeof *a) / sizeof *a->attrs)
		return -EINVAL;
	end = a->start_addr + a->size;
	if (!a->start_addr || !a->size || (a->start_addr | a->size) & 4095 || end < a->start_addr)
		return -EINVAL;
	if (a->op > KFD_IOCTL_SVM_OP_GET_ATTR)
		return -EINVAL;
	if (!is_mapped(a->start_addr, a->size))
		return -EFAULT;
	if (a->op == KFD_IOCTL_SVM_OP_SET_ATTR && vg_mem__overlaps(a->start_addr, a->size))
		return -EADDRINUSE;
	vg_lock(&s->lock);
	err = (a->op == KFD_IOCTL_SVM_OP_SET_ATTR ? set(s, a->start_addr, end, a->attrs, a->nattr)
						  : get(s, a->start_addr, end, a->attrs, a->nattr));
	vg_unlock(&s->lock);
	return err;
}

void vg_svm__forget(uint64_t start, uint64_t size)
{
	struct vg_svm_state *s = __atomic_load_n(&vg_proc()->svm, __ATOMIC_ACQUIRE);

	if (!s || !size)
		return;
	vg_lock(&s->lock);
	if (s->cnt + 2 <= MAX_RANGES) {
		split(s, start);
		split(s, start + size);
		take_out(s, first_above(s, start), first_above(s, start + size));
	}
	vg_unlock(&s->lock);
}

uint64_t vg_svm__room(uint64_t va, uint64_t most)
{
	struct vg_svm_state *s = __atomic_load_n(&vg_proc()->svm, __ATOMIC_ACQUIRE);
	uint64_t end = va, page = va & ~4095ull;

	if (!s)
		return 0;
	vg_lock(&s->lock);
	for (uint32_t i = first_above(s, va); i < s->cnt && end - va < most; i++) {
		const struct range *r = &s->range[i];

		if (r->start > end || !(r->at.access | r->at.in_place))
			break;
		end = r->end;
	}
	vg_unlock(&s->lock);
	return end > va && is_mapped(page, (end - va < most ? end : va + most) - page) ? end - va
										       : 0;
}
