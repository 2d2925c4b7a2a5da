// SPDX-License-Identifier: MIT
/* Makes ELF files with a metadata note, byte by byte. */
#ifndef CODE_OBJECT_H
#define CODE_OBJECT_H

#include <assert.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct code_object {
	uint8_t bytes[8192];
	size_t used;
	size_t note; /* where the note's text begins */
};

static inline void put(struct code_object *code, const void *bytes, size_t cnt)
{
	assert(code->used + cnt <= sizeof(code->bytes));
	memcpy(code->bytes + code->used, bytes, cnt);
	code->used += cnt;
}

static inline void put_byte(struct code_object *code, unsigned byte)
{
	put(code, &(uint8_t){(uint8_t)byte}, 1);
}

/* 31 bytes at most as a short string, else one with a length of its own. */
static inline void put_string(struct code_object *code, const char *text)
{
	size_t length = strlen(text);

	if (length > 31)
		put_byte(code, 0xd9);
	put_byte(code, (unsigned)(length > 31 ? length : 0xa0 | length));
	put(code, text, length);
}

static inline void put_number(struct code_object *code, const char *key, uint32_t value)
{
	put_string(code, key);
	if (value < 128) {
		put_byte(code, value);
	} else {
		put_byte(code, 0xce);
		for (int shift = 24; shift >= 0; shift -= 8)
			put_byte(code, value >> shift);
	}
}

/* The file's head, one segment of notes, the note's head. */
static inline void begin_code_object(struct code_object *code)
{
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_machine = 224,
		.e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1};
	Elf64_Phdr part = {.p_type = PT_NOTE, .p_offset = sizeof(head) + sizeof(part)};
	Elf64_Nhdr note = {.n_namesz = 7, .n_type = 32};

	code->used = 0;
	put(code, &head, sizeof(head));
	put(code, &part, sizeof(part));
	put(code, &note, sizeof(note));
	put(code, "AMDGPU\0", 8);
	code->note = code->used;
}

static inline void end_code_object(struct code_object *code)
{
	Elf64_Phdr *part = (void *)(code->bytes + sizeof(Elf64_Ehdr));
	Elf64_Nhdr *note = (void *)(code->bytes + sizeof(Elf64_Ehdr) + sizeof(*part));

	note->n_descsz = (Elf64_Word)(code->used - code->note);
	while (code->used % 4)
		put_byte(code, 0);
	part->p_filesz = code->used - part->p_offset;
}

/* Kernel number `i` of those that tests make: name "k<i>", so many vector registers. */
static inline void put_kernel(struct code_object *code, unsigned i, uint32_t vgprs)
{
	put_byte(code, 0x86);
	put_string(code, ".args");
	put_byte(code, 0x91); /* one argument, with a map of its own */
	put_byte(code, 0x82);
	put_number(code, ".offset", 0);
	put_string(code, ".value_kind");
	put_string(code, "global_buffer_of_a_long_name_____________");
	put_number(code, ".vgpr_count", vgprs);
	put_string(code, ".symbol");
	put_string(code, (const char[]){'k', (char)('0' + i % 10), '.', 'k', 'd', 0});
	put_number(code, ".sgpr_count", 300);
	put_string(code, ".uses_dynamic_stack");
	put_byte(code, 0xc3);
	put_number(code, ".wavefront_size", 64);
}

static inline void make_code_object(struct code_object *code, unsigned kernel_cnt)
{
	begin_code_object(code);
	put_byte(code, 0x82);
	put_string(code, "amdhsa.kernels");
	put_byte(code, 0x90 | kernel_cnt);
	for (unsigned i = 0; i < kernel_cnt; i++)
		put_kernel(code, i, 10 + i);
	put_string(code, "amdhsa.version");
	put_byte(code, 0x92);
	put_byte(code, 1);
	put_byte(code, 2);
	end_code_object(code);
}

#endif
