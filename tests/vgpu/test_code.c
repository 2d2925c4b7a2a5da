// SPDX-License-Identifier: MIT
/* Code objects in memory (a hand-made one), the kernels that move data, and the log's spool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own_memory.h"
#include "vgpu.h"

/* ---- a code object: header, two program headers, dynamic section, tables, note ---- */

struct image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	Elf64_Dyn dyn[5];
	Elf64_Sym sym[4];
	uint32_t hash[2];
	char str[64];
	Elf64_Nhdr note;
	char note_name[8];
	unsigned char note_desc[256];
	char descriptors[128];
};

static unsigned char *put_str(unsigned char *p, const char *s)
{
	size_t n = strlen(s);

	*p++ = (unsigned char)(0xa0 | n);
	memcpy(p, s, n);
	return p + n;
}

static unsigned char *put_arg(unsigned char *p, unsigned offset, const char *kind)
{
	*p++ = 0x83; /* map of 3 */
	p = put_str(p, ".offset");
	*p++ = 0xcd; /* uint16 */
	*p++ = (unsigned char)(offset >> 8);
	*p++ = (unsigned char)offset;
	p = put_str(p, ".size");
	*p++ = 8;
	p = put_str(p, ".value_kind");
	return put_str(p, kind);
}

static struct image *make_image(void)
{
	struct image *im = calloc(1, sizeof *im);
	unsigned char *p = im->note_desc;

	memcpy(im->eh.e_ident, ELFMAG, SELFMAG);
	im->eh.e_machine = 224;
	im->eh.e_phoff = offsetof(struct image, ph);
	im->eh.e_phnum = 2;
	im->ph[0] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
		.p_vaddr = offsetof(struct image, dyn),
		.p_memsz = sizeof im->dyn};
	im->ph[1] = (Elf64_Phdr){.p_type = PT_NOTE,
		.p_vaddr = offsetof(struct image, note),
		.p_memsz = offsetof(struct image, descriptors) - offsetof(struct image, note)};
	im->dyn[0] = (Elf64_Dyn){DT_SYMTAB, {offsetof(struct image, sym)}};
	im->dyn[1] = (Elf64_Dyn){DT_STRTAB, {offsetof(struct image, str)}};
	im->dyn[2] = (Elf64_Dyn){DT_STRSZ, {sizeof im->str}};
	im->dyn[3] = (Elf64_Dyn){DT_HASH, {offsetof(struct image, hash)}};
	im->hash[1] = 4;
	memcpy(im->str + 1, "_Z3addPf\0_Z3addPf.kd\0mul.kd", 27);
	im->sym[1] = (Elf64_Sym){.st_name = 1, .st_value = offsetof(struct image, descriptors)};
	im->sym[2] = (Elf64_Sym){.st_name = 10, .st_value = offsetof(struct image, descriptors)};
	im->sym[3] =
		(Elf64_Sym){.st_name = 22, .st_value = offsetof(struct image, descriptors) + 64};
	im->note = (Elf64_Nhdr){.n_namesz = 7, .n_descsz = sizeof im->note_desc, .n_type = 32};
	memcpy(im->note_name, "AMDGPU", 7);
	*p++ = 0x82;
	p = put_str(p, "amdhsa.version");
	*p++ = 0x92;
	*p++ = 1;
	*p++ = 1;
	p = put_str(p, "amdhsa.kernels");
	*p++ = 0x92; /* array of 2 */
	*p++ = 0x82;
	p = put_str(p, ".symbol");
	p = put_str(p, "mul.kd");
	p = put_str(p, ".args");
	*p++ = 0x90;
	*p++ = 0x82;
	p = put_str(p, ".symbol");
	p = put_str(p, "_Z3addPf.kd");
	p = put_str(p, ".args");
	*p++ = 0x93;
	p = put_arg(p, 0, "global_buffer");
	p = put_arg(p, 300, "by_value");
	p = put_arg(p, 304, "hidden_none");
	return im;
}

static void kernel_name_and_arguments(void **state)
{
	struct image *im = make_image();
	uint32_t offset[VG_MAX_ARGS], size[VG_MAX_ARGS];
	uint64_t base = (uintptr_t)im, add = base + offsetof(struct image, descriptors);
	char name[64];
	unsigned cnt;

	(void)state;
	assert_true(vg_elf__kernel(base, sizeof *im, add, name, sizeof name, &cnt, offset, size));
	assert_string_equal(name, "_Z3addPf");
	assert_int_equal(cnt, 2);
	assert_int_equal(offset[0], 0);
	assert_int_equal(offset[1], 300);
	assert_true(
		vg_elf__kernel(base, sizeof *im, add + 64, name, sizeof name, &cnt, offset, size));
	assert_string_equal(name, "mul");
	assert_int_equal(cnt, 0);
	assert_false(
		vg_elf__kernel(base, sizeof *im, add + 32, name, sizeof name, &cnt, offset, size));
	assert_false(
		vg_elf__kernel(base, sizeof *im, base - 64, name, sizeof name, &cnt, offset, size));
	assert_false(
		vg_elf__kernel(base, sizeof *im, add, name, 8, &cnt, offset, size)); /* too small */
	im->eh.e_machine = EM_X86_64;
	assert_false(vg_elf__kernel(base, sizeof *im, add, name, sizeof name, &cnt, offset, size));
	free(im);
}

/* Every truncation, and every byte damaged: never outside the image (the sanitizer watches). */
static void damaged_code_objects(void **state)
{
	struct image *good = make_image();
	uint32_t offset[VG_MAX_ARGS], size[VG_MAX_ARGS];
	char name[64];
	unsigned cnt;

	(void)state;
	for (size_t room = 0; room <= sizeof *good; room++) {
		char *im = malloc(room ? room : 1);
		uint64_t base = (uintptr_t)im;

		memcpy(im, good, room);
		vg_elf__kernel(base, room, base + offsetof(struct image, descriptors), name,
			sizeof name, &cnt, offset, size);
		free(im);
	}
	for (size_t at = 0; at < sizeof *good; at++)
		for (int v = 0; v < 4; v++) {
			static const unsigned char values[] = {0, 0x7f, 0xdf, 0xff};
			char *im = malloc(sizeof *good);
			uint64_t base = (uintptr_t)im;

			memcpy(im, good, sizeof *good);
			im[at] = (char)values[v];
			vg_elf__kernel(base, sizeof *good,
				base + offsetof(struct image, descriptors), name, sizeof name, &cnt,
				offset, size);
			free(im);
		}
	free(good);
}

/* ---- kernels that move data ---- */

static struct vg_blit_result blit(const char *name, unsigned arg_cnt, const uint64_t *args)
{
	char text[64];
	struct vg_kernel k = {.name = text, .arg_cnt = arg_cnt};
	struct vg_va_cache c = {0};

	snprintf(text, sizeof text, "%s", name);
	vg_kernel__classify(&k, true);
	for (unsigned i = 0; i < arg_cnt; i++)
		k.arg_offset[i] = i * 8;
	return vg_blit__run(&k, (const char *)args, 64, &c);
}

#define P(x) ((uint64_t)(uintptr_t)(x))

static void blit_copies(void **state)
{
	char from[256], to[256] = {0};
	struct vg_blit_result r;

	(void)state;
	own_all_memory();
	for (int i = 0; i < 256; i++)
		from[i] = (char)i;
	/* ROCm 5: source, target, origins, size in words, bytes of the last */
	r = blit("__amd_rocclr_copyBuffer", 6, (uint64_t[]){P(from), P(to), 3, 5, 4, 2});
	assert_int_equal(r.kind, VG_REC_COPY);
	assert_int_equal(r.bytes, 14);
	assert_memory_equal(to + 5, from + 3, 14);
	assert_int_equal(to[4], 0);
	assert_int_equal(to[19], 0);
	r = blit("__amd_rocclr_copyBufferAligned", 6, (uint64_t[]){P(from), P(to), 1, 2, 5, 16});
	assert_int_equal(r.bytes, 80);
	assert_memory_equal(to + 32, from + 16, 80);
	/* ROCm 6: source, target, size */
	memset(to, 0, sizeof to);
	r = blit("__amd_rocclr_copyBuffer", 7, (uint64_t[]){P(from), P(to), 100, 0, 0, 0, 0});
	assert_int_equal(r.bytes, 100);
	assert_memory_equal(to, from, 100);
	assert_int_equal(to[100], 0);
}

static void blit_fills(void **state)
{
	uint16_t pattern = 0x1234, to[100] = {0};
	struct vg_blit_result r;

	(void)state;
	/* ROCm 5: the pointer's place says the unit (2 bytes), pattern, its size, offset, count */
	r = blit("__amd_rocclr_fillBufferAligned", 8,
		(uint64_t[]){0, P(to), 0, 0, P(&pattern), 1, 10, 20});
	assert_int_equal(r.kind, VG_REC_FILL);
	assert_int_equal(r.bytes, 40);
	for (int i = 0; i < 100; i++)
		assert_int_equal(to[i], i >= 10 && i < 30 ? 0x1234 : 0);
	r = blit("__amd_rocclr_fillBufferAligned2D", 10,
		(uint64_t[]){0, P(to), 0, 0, P(&pattern), 1, 0, 2, 3, 40});
	assert_int_equal(r.bytes, 12);
	assert_int_equal(to[81], 0x1234);
	assert_int_equal(to[82], 0);
}

/* What no buffer holds is not touched: ROCm 5.2 dispatches such fills for 1 byte at an odd address. */
static void blits_out_of_bounds(void **state)
{
	uint64_t word = 7;
	struct vg_blit_result r;

	(void)state;
	r = blit("__amd_rocclr_fillBufferAligned", 8,
		(uint64_t[]){0, 0, 0, P(&word), P(&word), 1, 1, 0x1fffffffffffffff});
	assert_true(r.faults);
	assert_int_equal(r.fault_va, P(&word) + 8);
	r = blit("__amd_rocclr_copyBuffer", 7, (uint64_t[]){P(&word), 0x1000, 8, 0, 0, 0, 0});
	assert_true(r.faults);
	assert_int_equal(r.fault_va, 0x1000);
	r = blit("__amd_rocclr_fillBufferAligned", 6,
		(uint64_t[]){P(&word), P(&word), 1, 1, UINT64_MAX, 0});
	assert_true(r.faults);
	assert_int_equal(word, 7);
}

static void other_kernels_do_nothing(void **state)
{
	struct vg_blit_result r = blit("_Z3addPf", 6, (uint64_t[]){1, 2, 3, 4, 5, 6});

	(void)state;
	assert_int_equal(r.kind, VG_REC_DISPATCH);
	assert_int_equal(r.bytes, 0);
	/* a name that only begins like one of them */
	r = blit("__amd_rocclr_copyBufferToImage", 6, (uint64_t[]){1, 2, 3, 4, 5, 6});
	assert_int_equal(r.kind, VG_REC_DISPATCH);
}

/* ---- the spool ---- */

static char dir[] = "/tmp/vgpu-test-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir + sizeof dir - 7, "XXXXXX");
	return !mkdtemp(dir);
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", dir);
	return system(command);
}

static void spool_path(char *to, size_t size)
{
	snprintf(to, size, "%s/%d-%llu-0", dir, (int)getpid(),
		(unsigned long long)vg_start_time(getpid()));
}

/* noinline: gcc 12 mistakes the stream's buffer for a local. */
__attribute__((noinline)) static char *to_json(const char *path, int *err)
{
	uint64_t lines = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*err = vg_spool__to_json(path, out, &lines);
	fclose(out);
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines--;
	assert_int_equal(lines, 0);
	return text;
}

static void spool_to_json(void **state)
{
	struct vg_spool_cursor *c = calloc(1, sizeof *c);
	struct vg_spool s = {0};
	struct vg_spool_block *b;
	char path[128], long_name[1000], *text, *last;

	struct vg_rec *r;
	int err;

	(void)state;
	assert_int_equal(vg_spool__open(&s, dir, 3, "gfx90a", &vg_proc()->conf.clock), 0);
	memset(long_name, 'k', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = 0;
	vg_spool__name(&s, c, 1, long_name);
	vg_spool__name(&s, c, 2, "quote\"back\\slash");
	r = vg_spool__reserve(&s, c, &b);
	*r = (struct vg_rec){.kind = VG_REC_DISPATCH,
		.done = 1,
		.flags = VG_REC_BARRIER_BIT | VG_REC_INTERRUPT,
		.gpu = 2,
		.queue = 7,
		.kernel = 2,
		.index = 5,
		.start = 1000,
		.end = 6000,
		.kernel_object = 99,
		.signal = 77,
		.grid = {1, 2, 3},
		.workgroup = {4, 5, 6},
		.kernarg_bytes = 16,
		.kernarg = {0xab},
		.group_segment = 8,
		.private_segment = 9};
	vg_spool__done(c, b);
	/* launched and never completed; earlier in time, so first */
	r = vg_spool__reserve(&s, c, &b);
	*r = (struct vg_rec){.kind = VG_REC_BARRIER_AND, .start = 500, .queue = 7, .index = 6};
	atomic_store(&s.header->cpu_ns, 4242);
	spool_path(path, sizeof path);
	text = to_json(path, &err);
	assert_int_equal(err, 0);
	assert_non_null(strstr(text, "{\"kind\":\"barrier\",\"barrier\":\"and\",\"pid\":"));
	assert_non_null(
		strstr(text, "\"start\":500,\"start_ticks\":50,\"end\":null,\"end_ticks\":null"));
	last = strstr(text, "{\"kind\":\"dispatch\"");
	assert_non_null(last);
	assert_true(last > strstr(text, "\"barrier\":\"and\""));
	assert_non_null(strstr(last,
		"\"gpu\":2,\"queue\":7,\"index\":5,\"engine\":\"compute\",\"kernel\":"
		"\"quote\\\"back\\\\slash\","
		"\"kernel_object\":99,\"grid\":[1,2,3],\"workgroup\":[4,5,6],\"group_segment\":8,"
		"\"private_segment\":9,\"kernarg\":\"ab000000000000000000000000000000\","
		"\"barrier_bit\":true,\"start\":1000,\"start_ticks\":100,\"end\":6000,\"end_"
		"ticks\":600,"
		"\"bytes\":0,\"signal\":77,\"stamped\":false,\"interrupt\":true}\n"));
	assert_non_null(strstr(text, "\"cpu_ns\":4242"));
	assert_non_null(strstr(text, "\"ended\":false"));
	free(text);
	vg_spool__release(c);
	vg_spool__close(&s);
	free(c);
}

static void many_blocks(void **state)
{
	struct vg_spool_cursor *c = calloc(1, sizeof *c);
	unsigned cnt = 3 * VG_SPOOL_BLOCK_BYTES / sizeof(struct vg_rec) + 10, lines = 0, mapped = 0;
	struct vg_spool_block *b, *held;
	struct vg_spool s = {0};
	char path[128], *text;
	int err;

	(void)state;
	assert_int_equal(vg_spool__open(&s, dir, 1, "gfx90a", &vg_proc()->conf.clock), 0);
	vg_spool__reserve(&s, c, &held)->kind = VG_REC_DISPATCH; /* in flight all the time */
	for (unsigned i = 1; i < cnt; i++) {
		struct vg_rec *r = vg_spool__reserve(&s, c, &b);

		assert_non_null(r);
		r->kind = VG_REC_DISPATCH;
		r->index = i;
		r->done = 1;
		vg_spool__done(c, b);
	}
	for (unsigned i = 0; i < VG_CURSOR_BLOCKS; i++)
		mapped += c->blocks[i].map != NULL;
	assert_int_equal(mapped, 2); /* the one in flight and the current one */
	vg_spool__done(c, held);
	spool_path(path, sizeof path);
	text = to_json(path, &err);
	assert_int_equal(err, 0);
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, cnt + 1);
	free(text);
	vg_spool__release(c);
	vg_spool__close(&s);
	free(c);
}

static void hostile_spools(void **state)
{
	struct vg_spool_cursor *c = calloc(1, sizeof *c);
	struct vg_spool s = {0};
	struct vg_spool_block *b;
	char path[128];
	FILE *f;
	int err;

	(void)state;
	assert_int_equal(vg_spool__open(&s, dir, 1, "gfx90a", &vg_proc()->conf.clock), 0);
	vg_spool__name(&s, c, 1, "name");
	vg_spool__reserve(&s, c, &b)->kind = VG_REC_DISPATCH;
	spool_path(path, sizeof path);
	for (unsigned at = 0; at < 512; at++) {
		static const unsigned offsets[] = {0, VG_SPOOL_HEADER_BYTES};

		for (unsigned k = 0; k < 2; k++) {
			char saved, bad = (char)0xf7;

			f = fopen(path, "r+");
			assert_non_null(f);
			fseek(f, offsets[k] + at, SEEK_SET);
			saved = (char)getc(f);
			fseek(f, offsets[k] + at, SEEK_SET);
			putc(bad, f);
			fclose(f);
			free(to_json(path, &err));
			f = fopen(path, "r+");
			fseek(f, offsets[k] + at, SEEK_SET);
			putc(saved, f);
			fclose(f);
		}
	}
	free(to_json(path, &err));
	assert_int_equal(err, 0);
	assert_int_equal(truncate(path, VG_SPOOL_HEADER_BYTES + 100), 0);
	free(to_json(path, &err));
	assert_int_equal(err, 0);
	assert_int_equal(truncate(path, 100), 0);
	free(to_json(path, &err));
	assert_int_equal(err, -EPROTO);
	free(to_json("/nonexistent", &err));
	assert_int_equal(err, -ENOENT);
	free(c); /* the mappings are gone with the file */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_name_and_arguments),
		cmocka_unit_test(damaged_code_objects),
		cmocka_unit_test(blit_copies),
		cmocka_unit_test(blit_fills),
		cmocka_unit_test(blits_out_of_bounds),
		cmocka_unit_test(other_kernels_do_nothing),
		cmocka_unit_test_setup_teardown(spool_to_json, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(many_blocks, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(hostile_spools, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
