// SPDX-License-Identifier: MIT
/* What is told of GPUs, and how many there may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "definitions.h"
#include "hsa_session.h"

static struct wt_rec_device devices[HSA_DEVICES + 1];
static uint32_t device_cnt, off_cnt;
static char last_text[128];

static int set_up_reader(void **state)
{
	return set_up(state) || open_definitions() ? -1 : 0;
}

static void look(const struct wt_rec *rec)
{
	const struct wt_rec_status *status = (const void *)rec;

	if (rec->type == WT_REC_DEVICE) {
		assert_true(device_cnt <= HSA_DEVICES);
		memcpy(&devices[device_cnt++], rec, sizeof(devices[0]));
	}
	if (rec->type == WT_REC_STATUS && rec->id == 2) {
		off_cnt++;
		memcpy(last_text, status + 1, status->text_bytes);
		last_text[status->text_bytes] = 0;
	}
}

/* The runtime ends and begins again with so many GPUs; what is told of them. */
static void restart(uint32_t gpu_cnt)
{
	OnUnload();
	fake_hsa__gpus(gpu_cnt);
	table = fake_hsa__table();
	assert_true(OnLoad(table, 1, 0, NULL));
	device_cnt = off_cnt = 0;
	FAKE_CORE(table, hsa_executable_freeze, hsa_executable_freeze_fn)((hsa_executable){1}, "");
	each_definition(look);
}

static void test_facts(void **state)
{
	const struct wt_rec_device *d = &devices[1];

	(void)state;
	restart(2);
	assert_int_equal(device_cnt, 2);
	assert_int_equal(d->rec.id, 1);
	assert_int_equal(d->index, 1);
	assert_int_equal(d->shown_cnt, 2);
	assert_string_equal(d->arch, "gfx90a");
	assert_string_equal(d->isa, "gfx90a:sramecc+:xnack-");
	assert_int_equal(d->uuid, 0xab);
	assert_string_equal(d->uuid_text, "GPU-00000000000000ab");
	assert_int_equal(d->node, 1001);
	assert_int_equal(d->bdf, 0x100);
	assert_int_equal(d->domain, 0xffff);
	assert_int_equal(d->memory_bytes, 3ull << 33);
	assert_int_equal(d->lds_bytes, 65536);
	assert_int_equal(d->wavefront_size, 64);
	/* what the runtime does not know is not 0 */
	assert_int_equal(d->xcc_cnt, UINT32_MAX);
	assert_int_equal(d->clock_mhz, UINT32_MAX);
	assert_int_equal(d->asic_revision, UINT32_MAX);
	assert_int_equal(d->partition, UINT32_MAX);
	assert_string_equal(d->compute_partition, "");
	/* "GPU-XX" is no UUID */
	assert_int_equal(devices[0].uuid, 0);
	assert_string_equal(devices[0].uuid_text, "");
}

static void test_many(void **state)
{
	(void)state;
	restart(64);
	assert_int_equal(device_cnt, 62); /* two were told of before */
	assert_int_equal(off_cnt, 0);
	for (uint32_t i = 0; i < device_cnt; i++) {
		assert_int_equal(devices[i].rec.id, i + 2);
		assert_int_equal(devices[i].node, 1002 + i);
		assert_int_equal(devices[i].shown_cnt, 64);
	}
	assert_non_null(wt_device__of((hsa_agent){fake_gpu.handle + 63}));
	assert_int_equal(wt_device__of((hsa_agent){fake_gpu.handle + 63})->number, 63);
}

static void test_too_many(void **state)
{
	struct hsa_queue *queue;

	(void)state;
	restart(HSA_DEVICES + 3);
	assert_int_equal(device_cnt, HSA_DEVICES - 64);
	assert_int_equal(off_cnt, 1);
	assert_non_null(strstr(last_text, "of 259 GPUs, 3 are not recorded"));
	assert_null(wt_device__of((hsa_agent){fake_gpu.handle + HSA_DEVICES}));
	/* it works, and it is said that nothing of it is recorded */
	assert_int_equal(FAKE_CORE(table, hsa_queue_create, hsa_queue_create_fn)(
				 (hsa_agent){fake_gpu.handle + HSA_DEVICES}, 64, 0, NULL, NULL, 0,
				 0, &queue),
		HSA_OK);
	each_definition(look);
	assert_int_equal(off_cnt, 2);
	FAKE_CORE(table, hsa_queue_destroy, hsa_queue_destroy_fn)(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, set_up_reader, tear_down);
}
