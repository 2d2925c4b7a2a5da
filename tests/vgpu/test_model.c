// SPDX-License-Identifier: MIT
/* The table of GPU models, and the sysfs tree that is made of each: read back and compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

static char root[64];

static FILE *in_tree(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static FILE *in_tree(const char *fmt, ...)
{
	char path[512];
	int n = snprintf(path, sizeof path, "%s", root);
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(path + n, sizeof path - (size_t)n, fmt, ap);
	va_end(ap);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s is missing", path);
	return f;
}

/* The value behind a name in a properties file. */
static unsigned long long property(int node, const char *below, const char *name)
{
	FILE *f = in_tree(VG_NODES "/%d/%s/properties", node, below);
	unsigned long long value;
	char key[64];

	while (fscanf(f, "%63s %llu%*[^\n]", key, &value) == 2)
		if (!strcmp(key, name)) {
			fclose(f);
			return value;
		}
	fclose(f);
	fail_msg("node %d %s has no %s", node, below, name);
	return 0;
}

static void text_is(const char *dir, const char *name, const char *expected)
{
	FILE *f = in_tree("%s/%s", dir, name);
	char text[128] = "";

	(void)!fgets(text, sizeof text, f);
	fclose(f);
	text[strcspn(text, "\n")] = 0;
	assert_string_equal(text, expected);
}

static int entries(const char *dir)
{
	char path[512];
	struct dirent *e;
	int cnt = 0;
	DIR *d;

	snprintf(path, sizeof path, "%s%s", root, dir);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		cnt += e->d_name[0] != '.';
	closedir(d);
	return cnt;
}

static void build(const struct vg_model *m, int gpu_cnt)
{
	struct vg_conf conf = {.gpu_cnt = gpu_cnt, .model = m};

	strcpy(root,
		access("/dev/shm", W_OK) ? "/tmp/vgpu-test-XXXXXX" : "/dev/shm/vgpu-test-XXXXXX");
	assert_non_null(mkdtemp(root));
	assert_int_equal(vg_sysfs__build(root, &conf), 0);
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* How many entries the real card's topology has, and its totals. */
static const struct {
	const char *product;
	int caches, simds, arrays;
	unsigned l2, l3;
} known[] = {
	{"mi210", 217, 416, 8, 8192, 0},
	{"mi300x", 626, 1216, 32, 4096, 262144},
	{"mi350x", 514, 1024, 32, 4096, 262144},
	{"rx7900xtx", 206, 192, 12, 6144, 98304},
};

static void names(void **state)
{
	(void)state;
	assert_string_equal(vg_model_at(0)->product, "mi210");
	for (unsigned i = 0; vg_model_at(i); i++)
		assert_ptr_equal(vg_model_find(vg_model_at(i)->product), vg_model_at(i));
	assert_string_equal(vg_model_find("gfx90a")->product, "mi210");
	assert_string_equal(vg_model_find("gfx942")->product, "mi300x");
	assert_null(vg_model_find("gfx9"));
	assert_null(vg_model_find(""));
}

/* What must hold whatever the model. */
static void sane(void **state)
{
	(void)state;
	for (unsigned i = 0; vg_model_at(i); i++) {
		const struct vg_model *m = vg_model_at(i);
		uint32_t per_xcc = 0, arrays = m->engine_cnt * m->arrays_per_engine;

		for (uint32_t a = 0; a < arrays; a++) {
			uint32_t cus = vg_model__array_cus(m, a);

			assert_true(cus >= 1 && cus <= m->cu_per_array);
			per_xcc += cus;
		}
		assert_int_equal(per_xcc * m->xcc_cnt, m->cu_cnt);
		/* doorbells of 64 bits: what the rings are made for */
		assert_int_equal(vg_model__capability(m, true) >> 12 & 3, 2);
		assert_int_equal(vg_model__capability(m, false) >> 27 & 1, 0);
		assert_int_equal(m->vram_bytes % (1 << 20), 0);
		assert_int_equal(m->gfx_target_version / 10000, m->gc >> 16);
	}
}

static void topology(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const struct vg_model *m = vg_model_find(known[i].product);
		unsigned l2 = 0, l3 = 0, level1_code = 0;
		char below[64];

		build(m, 2);
		for (int node = 1; node <= 2; node++) {
			assert_int_equal(property(node, ".", "caches_count"), known[i].caches);
			assert_int_equal(property(node, ".", "simd_count"), known[i].simds);
			assert_int_equal(property(node, ".", "array_count"), known[i].arrays);
			assert_int_equal(property(node, ".", "lds_size_in_kb"), m->lds_kib);
			assert_int_equal(property(node, ".", "wave_front_size"), m->wave_size);
			assert_int_equal(property(node, ".", "num_xcc"), m->xcc_cnt);
			assert_int_equal(property(node, ".", "location_id"), (2 + node) << 8);
			assert_int_equal(
				property(node, "mem_banks/0", "size_in_bytes"), m->vram_bytes);
		}
		/* compute units are numbered through, absent ones too */
		assert_int_equal(
			property(2, ".", "simd_id_base") - property(1, ".", "simd_id_base"),
			known[i].arrays * (int)m->cu_per_array);
		assert_int_equal(entries(VG_NODES "/2/caches"), known[i].caches);
		for (int c = 0; c < known[i].caches; c++) {
			unsigned level, size;

			snprintf(below, sizeof below, "caches/%d", c);
			level = (unsigned)property(2, below, "level");
			size = (unsigned)property(2, below, "size");
			level1_code += level == 1 && property(2, below, "type") == 10;
			l2 += level == 2 ? size : 0;
			l3 += level == 3 ? size : 0;
		}
		assert_int_equal(l2, known[i].l2);
		assert_int_equal(l3, known[i].l3);
		assert_true(level1_code > 0);
		tear_down();
	}
}

/* An odd number of units in an array: the last pair has one. */
static void siblings(void **state)
{
	FILE *f;
	char map[128];
	unsigned id, id0;

	(void)state;
	build(vg_model_find("mi300x"), 1);
	id0 = (unsigned)property(1, ".", "simd_id_base");
	/* 304 data caches, then 5 of code for each of the first two arrays of 10, 5 for one of 9 */
	f = in_tree(VG_NODES "/1/caches/%d/properties", 304 + 14);
	assert_int_equal(fscanf(f, "processor_id_low %u", &id), 1);
	assert_int_equal(id, id0 + 20 + 8);
	while (fgets(map, sizeof map, f) && strncmp(map, "sibling_map", 11))
		;
	assert_memory_equal(map, "sibling_map 1,0,0,0,", 20);
	assert_int_equal(strlen(map), strlen("sibling_map ") + 64);
	fclose(f);
	tear_down();
}

static void device(void **state)
{
	(void)state;
	for (unsigned i = 0; vg_model_at(i); i++) {
		const struct vg_model *m = vg_model_at(i);
		static const char dir[] = "/sys/devices/pci0000:04/0000:04:00.0";
		static const char *const ways[] = {"/sys/class/drm/card1/device",
			"/sys/class/drm/renderD129/device", "/sys/dev/char/226:1/device",
			"/sys/dev/char/226:129/device", "/sys/bus/pci/devices/0000:04:00.0",
			"/sys/bus/pci/drivers/amdgpu/0000:04:00.0",
			"/sys/class/hwmon/hwmon1001/device",
			"/sys/class/pci_bus/0000:04/../../0000:04:00.0"};
		char text[64];

		build(m, 2);
		snprintf(text, sizeof text, "0x%04x", m->device_id);
		for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
			text_is(ways[k], "device", text);
		snprintf(text, sizeof text, "%llu", (unsigned long long)m->vram_bytes);
		text_is(dir, "mem_info_vram_total", text);
		text_is(dir, "mem_info_vram_used", "0");
		snprintf(text, sizeof text, "0x%08x", m->mec_fw);
		text_is(dir, "fw_version/mec_fw_version", text);
		text_is(dir, "hwmon/hwmon1001/name", "amdgpu");
		snprintf(text, sizeof text, "%u", m->gc >> 16);
		text_is(dir, "ip_discovery/die/0/GC/0/major", text);
		tear_down();
	}
}

static void metrics(void **state)
{
	(void)state;
	for (unsigned i = 0; vg_model_at(i); i++) {
		unsigned char b[512];
		size_t n = vg_metrics(vg_model_at(i), 7, b, sizeof b);
		bool v4 = vg_model_at(i)->partitions;

		assert_int_equal(n, b[0] | b[1] << 8);
		assert_int_equal(n, v4 ? 288 : 120);
		assert_int_equal(b[2], 1);
		assert_int_equal(b[3], v4 ? 4 : 3);
		assert_int_equal(b[v4 ? 12 : 16], 7); /* activity */
		assert_int_equal(vg_metrics(vg_model_at(i), 7, b, n - 1), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(sane),
		cmocka_unit_test(topology),
		cmocka_unit_test(siblings),
		cmocka_unit_test(device),
		cmocka_unit_test(metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
