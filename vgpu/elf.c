// SPDX-License-Identifier: MIT
/*
 * The code object as it lies in device memory: ROCr loads the PT_LOAD segments contiguously, the
 * first one with the ELF header at its start. The dynamic symbol table gives the name (symbol value
 * = kernel object - base), the NT_AMDGPU_METADATA note (msgpack) the arguments' offsets. Every
 * access is checked against the buffer that holds the image.
 */
#include "vgpu.h"

#include <elf.h>
#include <string.h>

#define NOTE_AMDGPU_METADATA 32
#define MACHINE_AMDGPU       224

/* ---- as much msgpack as the metadata uses ---- */

struct reader {
	const uint8_t *p, *end;
};

enum item_type { ITEM_INT, ITEM_STR, ITEM_ARRAY, ITEM_MAP, ITEM_OTHER, ITEM_END };

struct item {
	enum item_type type;
	uint64_t n; /* value, length, or number of entries */
	const char *s;
};

static uint64_t big_endian(struct reader *r, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes-- && r->p < r->end)
		v = v << 8 | *r->p++;
	return v;
}

static struct item take_string(struct reader *r, uint64_t n)
{
	struct item v = {ITEM_STR, n, (const char *)r->p};

	if (n > (uint64_t)(r->end - r->p))
		return (struct item){ITEM_END, 0, NULL};
	r->p += n;
	return v;
}

static struct item next_item(struct reader *r)
{
	/* From 0xc0 on: what follows the type byte, as (type, bytes of the number, fixed bytes). */
	static const struct {
		uint8_t type, number, skip;
	} forms[32] = {
		[0x00] = {ITEM_OTHER, 0, 0},
		[0x02] = {ITEM_INT, 0, 0},
		[0x03] = {ITEM_INT, 0, 0},
		[0x04] = {ITEM_STR, 1, 0},
		[0x05] = {ITEM_STR, 2, 0},
		[0x06] = {ITEM_STR, 4, 0},
		[0x0a] = {ITEM_OTHER, 0, 4},
		[0x0b] = {ITEM_OTHER, 0, 8},
		[0x0c] = {ITEM_INT, 1, 0},
		[0x0d] = {ITEM_INT, 2, 0},
		[0x0e] = {ITEM_INT, 4, 0},
		[0x0f] = {ITEM_INT, 8, 0},
		[0x10] = {ITEM_INT, 1, 0},
		[0x11] = {ITEM_INT, 2, 0},
		[0x12] = {ITEM_INT, 4, 0},
		[0x13] = {ITEM_INT, 8, 0},
		[0x19] = {ITEM_STR, 1, 0},
		[0x1a] = {ITEM_STR, 2, 0},
		[0x1b] = {ITEM_STR, 4, 0},
		[0x1c] = {ITEM_ARRAY, 2, 0},
		[0x1d] = {ITEM_ARRAY, 4, 0},
		[0x1e] = {ITEM_MAP, 2, 0},
		[0x1f] = {ITEM_MAP, 4, 0},
	};
	uint64_t n;
	uint8_t c;

	if (r->p >= r->end)
		return (struct item){ITEM_END, 0, NULL};
	c = *r->p++;
	if (c < 0x80)
		return (struct item){ITEM_INT, c, NULL};
	if (c < 0x90)
		return (struct item){ITEM_MAP, c & 15u, NULL};
	if (c < 0xa0)
		return (struct item){ITEM_ARRAY, c & 15u, NULL};
	if (c < 0xc0)
		return take_string(r, c & 31u);
	if (c >= 0xe0)
		return (struct item){ITEM_INT, (uint64_t)(int64_t)(int8_t)c, NULL};
	c &= 31;
	n = big_endian(r, forms[c].number);
	if (forms[c].skip > r->end - r->p)
		return (struct item){ITEM_END, 0, NULL};
	r->p += forms[c].skip;
	if (forms[c].type == ITEM_STR)
		return take_string(r, n);
	return (struct item){forms[c].type, n, NULL};
}

static void skip_item(struct reader *r, int depth)
{
	struct item v = next_item(r);
	uint64_t n = v.type == ITEM_ARRAY ? v.n : v.type == ITEM_MAP ? 2 * v.n : 0;

	while (n-- && r->p < r->end && depth < 32)
		skip_item(r, depth + 1);
}

static bool is(struct item v, const char *s)
{
	return v.type == ITEM_STR && v.n == strlen(s) && !memcmp(v.s, s, v.n);
}

/* One of a kernel's .args: its offset and size, or false if the compiler added it. */
static bool read_argument(struct reader *r, uint32_t *offset, uint32_t *size)
{
	struct item arg = next_item(r);
	bool hidden = false;

	for (uint64_t i = 0; arg.type == ITEM_MAP && i < arg.n && r->p < r->end; i++) {
		struct item key = next_item(r);

		if (is(key, ".offset")) {
			*offset = (uint32_t)next_item(r).n;
		} else if (is(key, ".size")) {
			*size = (uint32_t)next_item(r).n;
		} else if (is(key, ".value_kind")) {
			struct item kind = next_item(r);

			hidden = kind.type == ITEM_STR && kind.n > 7 &&
				 !memcmp(kind.s, "hidden_", 7);
		} else {
			skip_item(r, 0);
		}
	}
	return !hidden;
}

/* One entry of amdhsa.kernels; true if it is the wanted one. */
static bool read_kernel(
	struct reader *r, const char *symbol, unsigned *cnt, uint32_t *offsets, uint32_t *sizes)
{
	struct item kernel = next_item(r);
	bool wanted = false;

	*cnt = 0;
	for (uint64_t i = 0; kernel.type == ITEM_MAP && i < kernel.n && r->p < r->end; i++) {
		struct item key = next_item(r);

		if (is(key, ".symbol")) {
			wanted = is(next_item(r), symbol);
		} else if (is(key, ".args")) {
			struct item args = next_item(r);

			for (uint64_t k = 0; args.type == ITEM_ARRAY && k < args.n && r->p < r->end;
				k++) {
				uint32_t offset = 0, size = 0;

				if (!read_argument(r, &offset, &size) || *cnt == VG_MAX_ARGS)
					continue;
				offsets[*cnt] = offset;
				sizes[(*cnt)++] = size;
			}
		} else {
			skip_item(r, 0);
		}
	}
	return wanted;
}

static bool read_metadata(
	struct reader r, const char *symbol, unsigned *cnt, uint32_t *offsets, uint32_t *sizes)
{
	struct item top = next_item(&r);

	for (uint64_t i = 0; top.type == ITEM_MAP && i < top.n && r.p < r.end; i++) {
		struct item kernels;

		if (!is(next_item(&r), "amdhsa.kernels")) {
			skip_item(&r, 0);
			continue;
		}
		kernels = next_item(&r);
		for (uint64_t k = 0; kernels.type == ITEM_ARRAY && k < kernels.n && r.p < r.end;
			k++)
			if (read_kernel(&r, symbol, cnt, offsets, sizes))
				return true;
		break;
	}
	*cnt = 0;
	return false;
}

/* ---- the ELF image ---- */

struct image {
	const char *base;
	uint64_t room;
};

static const void *at(const struct image *im, uint64_t offset, uint64_t bytes)
{
	return offset <= im->room && bytes <= im->room - offset ? im->base + offset : NULL;
}

/* ROCr keeps the alignment of the file; what is not aligned is not a code object. */
static const void *aligned_at(
	const struct image *im, uint64_t offset, uint64_t bytes, uint64_t align)
{
	return ((uintptr_t)im->base + offset) % align ? NULL : at(im, offset, bytes);
}

/* Dynamic entries hold addresses relative to the image. */
static bool find_tables(const struct image *im, const Elf64_Phdr *dynamic, uint64_t *symbols,
	uint64_t *strings, uint64_t *string_bytes, uint64_t *cnt)
{
	uint64_t hash = 0, entries = dynamic->p_memsz / sizeof(Elf64_Dyn);
	const uint32_t *h;

	*symbols = *strings = *string_bytes = 0;
	for (uint64_t i = 0; i < entries; i++) {
		const Elf64_Dyn *d = aligned_at(im, dynamic->p_vaddr + i * sizeof *d, sizeof *d, 8);

		if (!d || d->d_tag == DT_NULL)
			break;
		switch (d->d_tag) {
		case DT_SYMTAB:
			*symbols = d->d_un.d_ptr;
			break;
		case DT_STRTAB:
			*strings = d->d_un.d_ptr;
			break;
		case DT_STRSZ:
			*string_bytes = d->d_un.d_val;
			break;
		case DT_HASH:
			hash = d->d_un.d_ptr;
			break;
		}
	}
	h = aligned_at(im, hash, 8, 4);
	if (!hash || !h || !*symbols || !*strings)
		return false;
	*cnt = h[1]; /* nchain: the number of symbols */
	return at(im, *symbols, *cnt * sizeof(Elf64_Sym)) && at(im, *strings, *string_bytes);
}

static bool find_symbol(const struct image *im, const Elf64_Phdr *dynamic, uint64_t value,
	char *name, size_t name_size)
{
	uint64_t symbols, strings, string_bytes, cnt;

	if (!find_tables(im, dynamic, &symbols, &strings, &string_bytes, &cnt))
		return false;
	for (uint64_t i = 0; i < cnt; i++) {
		const Elf64_Sym *s = aligned_at(im, symbols + i * sizeof *s, sizeof *s, 8);
		const char *text;
		size_t len, max;

		if (!s || s->st_value != value || !s->st_name || s->st_name >= string_bytes)
			continue;
		text = im->base + strings + s->st_name;
		max = string_bytes - s->st_name;
		len = strnlen(text, max);
		if (len == max || len < 4 || memcmp(text + len - 3, ".kd", 3))
			continue;
		if (len >= name_size)
			return false;
		memcpy(name, text, len + 1);
		return true;
	}
	return false;
}

static void find_arguments(const struct image *im, const Elf64_Phdr *note, const char *symbol,
	unsigned *cnt, uint32_t *offsets, uint32_t *sizes)
{
	const char *p = aligned_at(im, note->p_vaddr, note->p_memsz, 4), *end;

	if (!p)
		return;
	end = p + note->p_memsz;
	while ((size_t)(end - p) >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *n = (const void *)p;
		uint64_t skip = sizeof *n + ((n->n_namesz + 3ull) & ~3ull);
		uint64_t all = skip + ((n->n_descsz + 3ull) & ~3ull);
		const uint8_t *desc = (const uint8_t *)p + skip;

		if (skip + n->n_descsz > (uint64_t)(end - p))
			return;
		if (n->n_type == NOTE_AMDGPU_METADATA &&
			read_metadata((struct reader){desc, desc + n->n_descsz}, symbol, cnt,
				offsets, sizes))
			return;
		if (all > (uint64_t)(end - p))
			return;
		p += all;
	}
}

bool vg_elf__kernel(uint64_t base, uint64_t room, uint64_t object, char *name, size_t name_size,
	unsigned *arg_cnt, uint32_t *arg_offset, uint32_t *arg_size)
{
	struct image im = {(const char *)(uintptr_t)base, room};
	const Elf64_Ehdr *eh = aligned_at(&im, 0, sizeof *eh, 8);
	const Elf64_Phdr *ph;
	bool found = false;

	*arg_cnt = 0;
	if (!eh || memcmp(eh->e_ident, ELFMAG, SELFMAG) || eh->e_machine != MACHINE_AMDGPU)
		return false;
	ph = aligned_at(&im, eh->e_phoff, eh->e_phnum * sizeof *ph, 8);
	if (!ph || object < base)
		return false;
	for (int i = 0; i < eh->e_phnum && !found; i++)
		if (ph[i].p_type == PT_DYNAMIC)
			found = find_symbol(&im, &ph[i], object - base, name, name_size);
	if (!found)
		return false;
	for (int i = 0; i < eh->e_phnum && !*arg_cnt; i++)
		if (ph[i].p_type == PT_NOTE)
			find_arguments(&im, &ph[i], name, arg_cnt, arg_offset, arg_size);
	name[strlen(name) - 3] = 0; /* ".kd" */
	return true;
}
