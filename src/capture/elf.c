// SPDX-License-Identifier: MIT
#include "capture/elf.h"

#include <elf.h>
#include <string.h>

#define VERSION_HIDDEN 0x8000 /* not the default one */

/* Most loaders relocate these pointers in place, some leave them as offsets. */
static const void *pointer(uintptr_t base, ElfW(Addr) value)
{
	return (const void *)(value < base ? base + value : value);
}

/* The symbols that the hash table can find are the last ones: its longest chain ends with them. */
static uint32_t count_gnu(const uint32_t *table)
{
	uint32_t bucket_cnt = table[0], first = table[1], bloom_words = table[2], last = 0;
	const uint32_t *buckets =
		table + 4 + (size_t)bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chains = buckets + bucket_cnt;

	for (uint32_t i = 0; i < bucket_cnt; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < first)
		return first;
	while (!(chains[last - first] & 1))
		last++;
	return last + 1;
}

static void read_dynamic(struct wt_elf *elf, const ElfW(Dyn) * dynamic)
{
	const uint32_t *sysv = NULL, *gnu = NULL;
	ElfW(Xword) soname = 0;
	bool named = false;

	for (; dynamic->d_tag != DT_NULL; dynamic++)
		switch (dynamic->d_tag) {
		case DT_STRTAB:
			elf->strings = pointer(elf->base, dynamic->d_un.d_ptr);
			break;
		case DT_SYMTAB:
			elf->symbols = pointer(elf->base, dynamic->d_un.d_ptr);
			break;
		case DT_VERSYM:
			elf->versions = pointer(elf->base, dynamic->d_un.d_ptr);
			break;
		case DT_HASH:
			sysv = pointer(elf->base, dynamic->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			gnu = pointer(elf->base, dynamic->d_un.d_ptr);
			break;
		case DT_SONAME:
			soname = dynamic->d_un.d_val;
			named = true;
			break;
		default:
			break;
		}
	if (elf->symbols && elf->strings)
		elf->symbol_cnt = gnu ? count_gnu(gnu) : sysv ? sysv[1] : 0;
	elf->soname = named && elf->strings ? elf->strings + soname : "";
}

static bool read_object(struct wt_elf *elf, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;

	*elf = (struct wt_elf){.base = info->dlpi_addr,
		.start = UINTPTR_MAX,
		.path = info->dlpi_name,
		.soname = ""};
	if (!elf->path)
		elf->path = "";
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = elf->base + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC)
			dynamic = (const void *)start;
		if (segment->p_type != PT_LOAD)
			continue;
		if (start < elf->start)
			elf->start = start;
		if (start + segment->p_memsz > elf->end)
			elf->end = start + segment->p_memsz;
	}
	if (!dynamic)
		return false;
	read_dynamic(elf, dynamic);
	return true;
}

struct each {
	bool (*visit)(const struct wt_elf *elf, void *data);
	void *data;
};

static int each_object(struct dl_phdr_info *info, size_t bytes, void *data)
{
	const struct each *each = data;
	struct wt_elf elf;

	(void)bytes;
	return read_object(&elf, info) && each->visit(&elf, each->data);
}

bool wt_elf__each(bool (*visit)(const struct wt_elf *elf, void *data), void *data)
{
	return dl_iterate_phdr(each_object, &(struct each){visit, data}) != 0;
}

bool wt_elf__each_listed(bool (*visit)(const struct wt_elf *elf, void *data), void *data)
{
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		struct wt_elf elf = {
			.base = map->l_addr,
			.path = map->l_name ? map->l_name : "",
			.soname = "",
		};

		if (!map->l_ld)
			continue;
		read_dynamic(&elf, map->l_ld);
		if (visit(&elf, data))
			return true;
	}
	return false;
}

struct search {
	uintptr_t address;
	const char *library;
	struct wt_elf *found;
};

static bool holds(const struct wt_elf *elf, void *data)
{
	struct search *search = data;

	if (search->address < elf->start || search->address >= elf->end)
		return false;
	*search->found = *elf;
	return true;
}

bool wt_elf__at(const void *address, struct wt_elf *elf)
{
	return wt_elf__each(holds, &(struct search){.address = (uintptr_t)address, .found = elf});
}

bool wt_elf__is_named(const struct wt_elf *elf, const char *library)
{
	const char *file = strrchr(elf->path, '/');

	return wt_elf__begins(file ? file + 1 : elf->path, library) ||
	       wt_elf__begins(elf->soname, library);
}

static bool has_name(const struct wt_elf *elf, void *data)
{
	struct search *search = data;

	if (!wt_elf__is_named(elf, search->library))
		return false;
	*search->found = *elf;
	return true;
}

bool wt_elf__named(const char *library, struct wt_elf *elf)
{
	return wt_elf__each(has_name, &(struct search){.library = library, .found = elf});
}

const char *wt_elf__function(const struct wt_elf *elf, uint32_t i, void **address)
{
	const ElfW(Sym) *symbol = &elf->symbols[i];
	unsigned bind = ELF64_ST_BIND(symbol->st_info), type = ELF64_ST_TYPE(symbol->st_info);

	/* an indirect function's address is not known without calling it */
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value || type != STT_FUNC ||
		(bind != STB_GLOBAL && bind != STB_WEAK) ||
		(elf->versions && elf->versions[i] & VERSION_HIDDEN))
		return NULL;
	*address = (void *)(elf->base + symbol->st_value);
	return elf->strings + symbol->st_name;
}

void *wt_elf__find(const struct wt_elf *elf, const char *name)
{
	for (uint32_t i = 0; i < elf->symbol_cnt; i++) {
		void *address;
		const char *has = wt_elf__function(elf, i, &address);

		if (has && wt_elf__same(has, name))
			return address;
	}
	return NULL;
}
