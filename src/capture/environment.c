// SPDX-License-Identifier: MIT
#include "capture/environment.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "capture/capture.h"

#define VALUE_BYTES 4096u /* longer values are cut */
#define NAME_BYTES  128u
#define ALL_BYTES   (128u << 10) /* of all together: the ring has to hold more than this */
#define VARIABLES   65536u       /* of an environment; then it is no list any more */

/* All whose names begin so; with '=' behind it, the one of that name. */
static const char *const wanted[] = {"HIP", "HSA", "GPU_", "AMD_", "ROC_", "ROCR_", "ROCM_",
	"ROCPROF", "ROCTRACER_", "ROCBLAS_", "ROCSOLVER_", "ROCSPARSE_", "ROCFFT_", "NCCL_", "RCCL",
	"MSCCL", "UCX_", "UCC_", "XLA_", "JAX_", "TF_XLA_", "TF_GPU_", "TF_ROCM_", "TF_CPP_",
	"TF_FORCE_GPU_", "PYTORCH_", "TORCH", "VLLM_", "SGLANG_", "AITER_", "TRITON_",
	"FLASH_ATTENTION_", "CK_TILE_", "MIOPEN_", "TENSILE_", "DEBUG_HIP_", "DEBUG_CLR_", "PAL_",
	"OCL_", "LLAMA_", "GGML_", "OMP_", "OMPI_COMM_WORLD_",
	"PMI_RANK=", "PMI_SIZE=", "PMIX_RANK=", "SLURM_", "FLUX_", "CUDA_",
	"WORLD_SIZE=", "RANK=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE=", "GROUP_RANK=", "MASTER_ADDR=",
	"MASTER_PORT=", "MALLOC_ARENA_MAX=", "LD_PRELOAD="};

static const char *const secret[] = {
	"TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL", "AUTH", "JWT", "COOKIE", "PRIVATE"};

static bool contains(const char *name, size_t length, const char *word)
{
	size_t bytes = strlen(word);

	for (size_t i = 0; i + bytes <= length; i++)
		if (!strncasecmp(name + i, word, bytes))
			return true;
	return false;
}

bool wt_environment__wants(const char *name, size_t length)
{
	bool found = false;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted) && !found; i++) {
		size_t bytes = strlen(wanted[i]);

		if (wanted[i][bytes - 1] == '=')
			found = length == bytes - 1 && !memcmp(name, wanted[i], length);
		else
			found = length >= bytes && !memcmp(name, wanted[i], bytes);
	}
	for (size_t i = 0; i < sizeof(secret) / sizeof(*secret) && found; i++)
		found = !contains(name, length, secret[i]);
	return found;
}

static size_t tell(const char *variable, size_t name_bytes, size_t bytes)
{
	struct wt_rec_setting rec = {
		.rec = {.type = WT_REC_SETTING, .id = WT_SETTING_VARIABLE},
		.name_bytes = (uint32_t)name_bytes,
	};
	size_t whole = bytes - name_bytes - 1, kept = whole < VALUE_BYTES ? whole : VALUE_BYTES;

	rec.value_bytes = (uint32_t)kept;
	rec.whole_bytes = whole < UINT32_MAX ? (uint32_t)whole : UINT32_MAX;
	wt_define(&rec.rec, sizeof(rec), variable, name_bytes + 1 + kept);
	return sizeof(rec) + name_bytes + 1 + kept;
}

/*
 * Another thread may be changing the environment. The C library never frees a variable's text, and
 * a list that it has outgrown still holds what it held, or what its allocator puts into free
 * memory: no worse than what the runtimes do, which read it in the same moment.
 */
void wt_environment__tell(void)
{
	struct wt_rec_setting end = {.rec = {.type = WT_REC_SETTING, .id = WT_SETTING_TOLD}};
	size_t told_bytes = 0;

	for (size_t i = 0; environ && environ[i] && i < VARIABLES; i++) {
		const char *variable = environ[i], *value;
		size_t bytes = strnlen(variable, NAME_BYTES);

		value = memchr(variable, '=', bytes);
		if (!value || !wt_environment__wants(variable, (size_t)(value - variable)))
			continue;
		bytes = strlen(variable);
		if (told_bytes + bytes > ALL_BYTES && told_bytes + VALUE_BYTES > ALL_BYTES) {
			end.left_out++;
			continue;
		}
		told_bytes += tell(variable, (size_t)(value - variable), bytes);
		end.number++;
	}
	wt_define(&end.rec, sizeof(end), NULL, 0);
}
