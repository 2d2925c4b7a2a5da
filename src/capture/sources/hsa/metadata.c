// SPDX-License-Identifier: MIT
#include "capture/sources/hsa/metadata.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define MACHINE_AMDGPU       224
#define NOTE_AMDGPU_METADATA 32

/* ---- MessagePack, as much of it as is needed to read and to step over ---------------- */

struct reader {
	const uint8_t *at, *end;
};

enum kind { NUMBER, STRING, ARRAY, MAP, OTHER, BROKEN };

struct item {
	enum kind kind;
	uint64_t value;   /* NUMBER: booleans, too. STRING: bytes. ARRAY, MAP: items, pairs */
	const char *text; /* STRING */
};

static const struct item broken = {BROKEN, 0, NULL};

static size_t left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

/* The bytes of an item of `kind`; what is no string is stepped over. */
static struct item take_bytes(struct reader *r, enum kind kind, uint64_t bytes)
{
	struct item item = {kind, bytes, (const char *)r->at};

	if (bytes > left(r))
		return broken;
	r->at += bytes;
	return item;
}

/* A number of `bytes` bytes, the highest first. Below zero is no number of ours. */
static struct item take_number(struct reader *r, unsigned bytes, bool is_signed)
{
	struct item item = {NUMBER, 0, NULL};

	if (bytes > left(r))
		return broken;
	if (is_signed && r->at[0] & 0x80)
		item.kind = OTHER;
	while (bytes--)
		item.value = item.value << 8 | *r->at++;
	return item;
}

/* Its length in so many bytes, then as many bytes or items (and `more`). */
static struct item take_counted(struct reader *r, enum kind kind, unsigned bytes, unsigned more)
{
	struct item length = take_number(r, bytes, false);

	if (length.kind == BROKEN)
		return broken;
	if (kind == ARRAY || kind == MAP)
		return (struct item){kind, length.value, NULL};
	return take_bytes(r, kind, length.value + more);
}

static struct item take(struct reader *r)
{
	uint8_t head;

	if (!left(r))
		return broken;
	head = *r->at++;
	if (head < 0x80)
		return (struct item){NUMBER, head, NULL};
	if (head < 0x90)
		return (struct item){MAP, head & 15u, NULL};
	if (head < 0xa0)
		return (struct item){ARRAY, head & 15u, NULL};
	if (head < 0xc0)
		return take_bytes(r, STRING, head & 31u);
	switch (head) {
	case 0xc2: /* false, true */
	case 0xc3:
		return (struct item){NUMBER, head & 1u, NULL};
	case 0xc4: /* binary */
	case 0xc5:
	case 0xc6:
		return take_counted(r, OTHER, 1u << (head - 0xc4), 0);
	case 0xc7: /* extension: length, type, bytes */
	case 0xc8:
	case 0xc9:
		return take_counted(r, OTHER, 1u << (head - 0xc7), 1);
	case 0xca: /* floating point */
	case 0xcb:
		return take_bytes(r, OTHER, 4u << (head - 0xca));
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf:
		return take_number(r, 1u << (head - 0xcc), false);
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return take_number(r, 1u << (head - 0xd0), true);
	case 0xd4: /* extension of a fixed length: type, bytes */
	case 0xd5:
	case 0xd6:
	case 0xd7:
	case 0xd8:
		return take_bytes(r, OTHER, (1u << (head - 0xd4)) + 1);
	case 0xd9:
	case 0xda:
	case 0xdb:
		return take_counted(r, STRING, 1u << (head - 0xd9), 0);
	case 0xdc:
	case 0xdd:
		return take_counted(r, ARRAY, 2u << (head - 0xdc), 0);
	case 0xde:
	case 0xdf:
		return take_counted(r, MAP, 2u << (head - 0xde), 0);
	case 0xc0: /* nil */
		return (struct item){OTHER, 0, NULL};
	case 0xc1:
		return broken;
	default: /* -32 to -1 */
		return (struct item){OTHER, 0, NULL};
	}
}

/* Steps over what is in `item`, however deep. False: it does not end. */
static bool step_over(struct reader *r, struct item item)
{
	uint64_t open = 1;

	for (;;) {
		if (item.kind == BROKEN)
			return false;
		open += item.kind == ARRAY ? item.value : item.kind == MAP ? 2 * item.value : 0;
		if (!--open)
			return true;
		/* each takes a byte at least */
		if (open > left(r))
			return false;
		item = take(r);
	}
}

static bool is(const struct item *item, const char *text, size_t length)
{
	return item->kind == STRING && item->value == length && !memcmp(item->text, text, length);
}
#define IS(item, text) is(item, text, sizeof(text) - 1)

/* ---- the kernels --------------------------------------------------------------------- */

#define FACT(key, field)                                                                           \
	{                                                                                          \
		key, sizeof(key) - 1, offsetof(struct wt_kernel_facts, field)                      \
	}
static const struct {
	const char *key;
	size_t length, offset;
} known[] = {
	FACT(".vgpr_count", vgprs),
	FACT(".agpr_count", agprs),
	FACT(".sgpr_count", sgprs),
	FACT(".vgpr_spill_count", vgpr_spills),
	FACT(".sgpr_spill_count", sgpr_spills),
	FACT(".max_flat_workgroup_size", workgroup_max),
	FACT(".wavefront_size", wavefront_size),
	FACT(".uses_dynamic_stack", dynamic_stack),
};
#define KNOWN_CNT (sizeof(known) / sizeof(*known))

static void note_fact(struct wt_kernel_facts *facts, const struct item *key, uint64_t value)
{
	for (size_t i = 0; i < KNOWN_CNT; i++)
		if (is(key, known[i].key, known[i].length) && value < WT_NOT_SAID)
			memcpy((char *)facts + known[i].offset, &(uint32_t){(uint32_t)value},
				sizeof(uint32_t));
}

static bool read_kernel(struct reader *r, wt_metadata_visitor *visit, void *arg)
{
	struct item kernel = take(r), symbol = {OTHER, 0, NULL};
	struct wt_kernel_facts facts = {0};

	for (size_t i = 0; i < KNOWN_CNT; i++)
		memcpy((char *)&facts + known[i].offset, &(uint32_t){WT_NOT_SAID},
			sizeof(uint32_t));
	if (kernel.kind != MAP)
		return step_over(r, kernel);
	for (uint64_t i = 0; i < kernel.value; i++) {
		struct item key = take(r), value = take(r);

		if (IS(&key, ".symbol"))
			symbol = value;
		if (value.kind == NUMBER)
			note_fact(&facts, &key, value.value);
		if (IS(&key, ".args") && value.kind == ARRAY) {
			facts.args = r->at;
			facts.arg_cnt = value.value;
		}
		if (key.kind != STRING || !step_over(r, value))
			return false;
		if (IS(&key, ".args"))
			facts.args_end = r->at;
	}
	/* the descriptor's symbol, KERNEL.kd */
	if (symbol.kind != STRING || symbol.value <= 3 ||
		memcmp(symbol.text + symbol.value - 3, ".kd", 3) != 0)
		return true;
	return visit(symbol.text, symbol.value - 3, &facts, arg);
}

static bool tell_argument(struct reader *r, char *to, size_t to_bytes)
{
	struct item map = take(r), name = {OTHER, 0, NULL};
	unsigned offset = WT_NOT_SAID, bytes = WT_NOT_SAID;
	bool hidden = false;

	if (map.kind != MAP)
		return false;
	for (uint64_t i = 0; i < map.value; i++) {
		struct item key = take(r), value = take(r);

		if (IS(&key, ".name"))
			name = value;
		if (IS(&key, ".offset") && value.kind == NUMBER)
			offset = (unsigned)value.value;
		if (IS(&key, ".size") && value.kind == NUMBER)
			bytes = (unsigned)value.value;
		if (IS(&key, ".value_kind") && value.kind == STRING)
			hidden = value.value > 7 && !memcmp(value.text, "hidden_", 7);
		if (key.kind != STRING || !step_over(r, value))
			return false;
	}
	if (!hidden)
		snprintf(to, to_bytes, "%.*s@%u:%u ",
			name.kind == STRING && name.value < 64 ? (int)name.value : 0,
			name.kind == STRING ? name.text : "", offset, bytes);
	return true;
}

bool wt_metadata__arguments(const struct wt_kernel_facts *facts, char *to, size_t to_bytes)
{
	struct reader r = {facts->args, facts->args_end};

	to[0] = 0;
	for (uint64_t i = 0; i < facts->arg_cnt; i++) {
		size_t used = strlen(to);

		if (!r.at || !tell_argument(&r, to + used, to_bytes - used))
			return false;
	}
	return true;
}

static bool read_note(struct reader r, wt_metadata_visitor *visit, void *arg)
{
	struct item top = take(&r);

	if (top.kind != MAP)
		return false;
	for (uint64_t i = 0; i < top.value; i++) {
		struct item key = take(&r), value = take(&r);

		if (!IS(&key, "amdhsa.kernels") || value.kind != ARRAY) {
			if (key.kind != STRING || !step_over(&r, value))
				return false;
			continue;
		}
		for (uint64_t k = 0; k < value.value; k++)
			if (!read_kernel(&r, visit, arg))
				return false;
	}
	return true;
}

/* ---- the ELF file -------------------------------------------------------------------- */

/* A copy of what lies there: nothing is aligned. */
static bool copy(const struct reader *file, uint64_t offset, void *to, size_t bytes)
{
	if (offset > left(file) || bytes > left(file) - offset)
		return false;
	memcpy(to, file->at + offset, bytes);
	return true;
}

/* The notes of one segment; -1: that one is not among them. */
static int each_note(struct reader segment, wt_metadata_visitor *visit, void *arg)
{
	Elf64_Nhdr head;

	while (copy(&segment, 0, &head, sizeof(head))) {
		uint64_t name = (head.n_namesz + 3ull) & ~3ull;
		uint64_t text = (head.n_descsz + 3ull) & ~3ull;
		const uint8_t *at = segment.at + sizeof(head);
		uint64_t room = left(&segment) - sizeof(head);

		if (name > room || head.n_descsz > room - name)
			return -1;
		if (head.n_type == NOTE_AMDGPU_METADATA && head.n_namesz == sizeof("AMDGPU") &&
			!memcmp(at, "AMDGPU", sizeof("AMDGPU")))
			return read_note(
				(struct reader){at + name, at + name + head.n_descsz}, visit, arg);
		if (text > room - name)
			return -1;
		segment.at = at + name + text;
	}
	return -1;
}

bool wt_metadata__each(const void *elf, size_t bytes, wt_metadata_visitor *visit, void *arg)
{
	struct reader file = {elf, (const uint8_t *)elf + bytes};
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (!copy(&file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
		head.e_machine != MACHINE_AMDGPU || head.e_phentsize < sizeof(part))
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		int found;

		if (head.e_phoff > bytes ||
			!copy(&file, head.e_phoff + (uint64_t)i * head.e_phentsize, &part,
				sizeof(part)))
			return false;
		if (part.p_type != PT_NOTE || part.p_offset > bytes ||
			part.p_filesz > bytes - part.p_offset)
			continue;
		found = each_note((struct reader){file.at + part.p_offset,
					  file.at + part.p_offset + part.p_filesz},
			visit, arg);
		if (found >= 0)
			return found;
	}
	return false;
}
