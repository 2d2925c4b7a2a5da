// SPDX-License-Identifier: MIT
/* Which variables are told of, and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/capture.h"
#include "capture/environment.h"
#include "definitions.h"

static struct {
	char name[64];
	char value[5000];
	uint32_t value_bytes, whole_bytes;
} told[300];
static uint32_t told_cnt, end_cnt;
static struct wt_rec_setting end;

static void look(const struct wt_rec *rec)
{
	const struct wt_rec_setting *s = (const void *)rec;
	const char *text = (const char *)(s + 1);

	if (rec->type != WT_REC_SETTING)
		return;
	if (rec->id == WT_SETTING_TOLD) {
		end = *s;
		end_cnt++;
		return;
	}
	assert_int_equal(rec->id, WT_SETTING_VARIABLE);
	assert_int_equal(end_cnt, 0); /* it is the last */
	assert_true(told_cnt < 300 && s->name_bytes < 64 && s->value_bytes < 5000);
	assert_int_equal(text[s->name_bytes], '=');
	memcpy(told[told_cnt].name, text, s->name_bytes);
	memcpy(told[told_cnt].value, text + s->name_bytes + 1, s->value_bytes);
	told[told_cnt].value_bytes = s->value_bytes;
	told[told_cnt++].whole_bytes = s->whole_bytes;
}

/* A process joins a session with that environment. */
static void join(const char *const *variables)
{
	char setting[128], *all[400], **old = environ;
	size_t cnt = 0;

	fake_session__start();
	snprintf(setting, sizeof(setting), "WAVETAP_SESSION=%s", fake_session__dir());
	while (variables[cnt] && cnt < 398) {
		all[cnt] = (char *)variables[cnt];
		cnt++;
	}
	all[cnt++] = setting;
	all[cnt] = NULL;
	environ = all;
	assert_true(wt_process__join());
	environ = old;
	assert_int_equal(open_definitions(), 0);
	memset(told, 0, sizeof(told));
	told_cnt = end_cnt = 0;
	each_definition(look);
	assert_int_equal(end_cnt, 1);
}

static void leave(void)
{
	fake_session__stop();
}

static bool wants(const char *name)
{
	return wt_environment__wants(name, strlen(name));
}

static void test_names(void **state)
{
	static const char *const yes[] = {"HIP_VISIBLE_DEVICES", "HSA_ENABLE_SDMA",
		"GPU_MAX_HW_QUEUES", "AMD_LOG_LEVEL", "ROCR_VISIBLE_DEVICES", "NCCL_DEBUG",
		"RCCL_MSCCL_ENABLE", "XLA_FLAGS", "PYTORCH_TUNABLEOP_ENABLED",
		"PYTORCH_HIP_ALLOC_CONF", "TORCH_BLAS_PREFER_HIPBLASLT",
		"VLLM_USE_TRITON_FLASH_ATTN", "SLURM_PROCID", "DEBUG_HIP_GRAPH_DOT_PRINT",
		"DEBUG_CLR_LIMIT_BLIT_WG", "MIOPEN_FIND_MODE", "HIPBLASLT_TUNING_FILE", "RANK",
		"ROCPROFILER_LOG_LEVEL", "TENSILE_DB", "CUDA_VISIBLE_DEVICES"};
	static const char *const no[] = {"", "PATH", "HOME", "RANKS", "_HIP", "hip_x", "USER",
		"WAVETAP_SESSION", "HF_TOKEN", "VLLM_API_KEY", "SLURM_JWT", "HIP_TOKEN",
		"NCCL_SecretS", "PYTORCH_passwd", "AMD_CREDENTIALS", "XLA_AUTH_X", "TF_VAR_x",
		"MASTER_ADDRESS"};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (!wants(yes[i]))
			fail_msg("%s is wanted", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (wants(no[i]))
			fail_msg("%s is not wanted", no[i]);
}

static char long_value[4200], many[300][1100];
static const char *many_list[301];

static void test_told(void **state)
{
	const char *const variables[] = {"HIP_VISIBLE_DEVICES=1,0", "PATH=/bin",
		"HSA_EMPTY=", "NCCL_X=a=b", "HIP_TOKEN=hush", "AMD_BYTES=\xff\x01z", "NO_VALUE",
		"HIP_NO_VALUE", long_value, NULL};

	(void)state;
	memset(long_value, 'x', sizeof(long_value) - 1);
	memcpy(long_value, "XLA_FLAGS=", 10);
	join(variables);
	assert_int_equal(told_cnt, 5);
	assert_int_equal(end.number, 5);
	assert_int_equal(end.left_out, 0);
	assert_string_equal(told[0].name, "HIP_VISIBLE_DEVICES");
	assert_string_equal(told[0].value, "1,0");
	assert_string_equal(told[1].name, "HSA_EMPTY");
	assert_int_equal(told[1].value_bytes, 0);
	assert_string_equal(told[2].value, "a=b");
	assert_string_equal(told[3].value, "\xff\x01z");
	assert_string_equal(told[4].name, "XLA_FLAGS");
	assert_int_equal(told[4].value_bytes, 4096);
	assert_int_equal(told[4].whole_bytes, sizeof(long_value) - 1 - 10);
	leave();
}

/* An environment without end finds an end, and what found no room is counted. */
static void test_too_many(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		memset(many[i], 'y', sizeof(many[i]) - 1);
		snprintf(many[i], 16, "HIP_N_%03d", i);
		many[i][9] = '=';
		many_list[i] = many[i];
	}
	wt_process.live->recording = WT_UNDECIDED; /* as in a child */
	wt_process.session = NULL;
	join(many_list);
	assert_int_equal(told_cnt, end.number);
	assert_true(told_cnt >= 100 && told_cnt <= 130);
	assert_int_equal(told_cnt + end.left_out, 300);
	leave();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
