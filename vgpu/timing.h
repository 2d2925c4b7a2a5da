// SPDX-License-Identifier: MIT
/*
 * How long simulated things take, and the options that say so. No state, so that vgpu-run checks
 * what libvgpu.so will read: duration.c kernels, cost.c packets and copies, sample.c recorded
 * times.
 */
#ifndef VGPU_TIMING_H
#define VGPU_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Simulated times are whole ticks of 100 MHz, so that stamps and log agree exactly. */
#define VG_STEP_NS 10
uint64_t vg_whole_ticks(uint64_t ns); /* rounded up */

/* Where an option's value cannot be read, and why (a sentence without its end). */
struct vg_mistake {
	const char *at, *why;
};

/* Items between commas, each read by `item`, which says why it cannot be (NULL: it can). 0 or
 * -EINVAL. */
int vg_list__parse(const char *text, const char *(*item)(void *with, const char *text, size_t len),
	void *with, struct vg_mistake *mistake);

/* The decimal number of `len` bytes, at most 15 digits. */
bool vg_parse_ns(const char *text, size_t len, uint64_t *ns);

/* ---- duration.c ---- */

enum vg_shape { VG_FIXED, VG_UNIFORM, VG_NORMAL, VG_LOGNORMAL };

struct vg_duration {
	enum vg_shape shape;
	uint64_t ns;      /* the mean */
	double spread_ns; /* uniform: the half width; else the standard deviation */
};

#define VG_MAX_PATTERNS 32

struct vg_pattern {
	char text[96];
	struct vg_duration time;
};

struct vg_kernel_times {
	struct vg_duration other; /* of kernels that no pattern names */
	struct vg_pattern patterns[VG_MAX_PATTERNS];
	unsigned pattern_cnt;
	uint64_t seed;
};

/* "5000,gemm=20000~15%": 0 or -EINVAL. */
int vg_kernel_times__parse(
	struct vg_kernel_times *times, const char *text, struct vg_mistake *mistake);
const struct vg_duration *vg_kernel_times__find(
	const struct vg_kernel_times *times, const char *name, bool *named);
/* A substring of the name, or a glob for all of it if it has one of *?[ */
bool vg_name_fits(const char *pattern, const char *name);
/* A key for each draw: the same numbers give the same time, in any order, on any thread. */
uint64_t vg_key(uint64_t key, uint64_t number);
uint64_t vg_key_of_text(uint64_t key, const char *text);
uint64_t vg_duration__draw(const struct vg_duration *time, uint64_t key);

/* ---- cost.c ---- */

enum vg_cost { VG_COST_DISPATCH, VG_COST_BARRIER, VG_COST_PM4, VG_COST_AGENT, VG_COST_CNT };

/* From where to where a copy goes: host memory, a GPU's own, another GPU's. */
enum vg_way {
	VG_WAY_H2D,
	VG_WAY_D2H,
	VG_WAY_D2D,
	VG_WAY_PEER,
	VG_WAY_H2H,
	VG_WAY_FILL,
	VG_WAY_CNT
};

struct vg_costs {
	uint64_t packet_ns[VG_COST_CNT];
	double copy_gbps[VG_WAY_CNT]; /* 0: no time */
	uint64_t latency_ns[VG_WAY_CNT];
};

void vg_costs__init(struct vg_costs *costs);
/* "1000", "barrier=1000,pm4=0": what is not named stays as it is. 0 or -EINVAL. */
int vg_costs__parse_packets(struct vg_costs *costs, const char *text, struct vg_mistake *mistake);
int vg_costs__parse_gbps(struct vg_costs *costs, const char *text, struct vg_mistake *mistake);
int vg_costs__parse_latency(struct vg_costs *costs, const char *text, struct vg_mistake *mistake);
uint64_t vg_costs__bytes_ns(const struct vg_costs *costs, enum vg_way way, uint64_t bytes);
/* Number of the GPU whose memory it is, -1: the host's. */
enum vg_way vg_way_of(int source_gpu, int target_gpu);
const char *vg_way_name(enum vg_way way);

/* ---- sample.c ---- */

struct vg_sample_set {
	char *name; /* without blanks */
	uint64_t *ns;
	uint32_t cnt; /* at least 1 */
	struct vg_sample_set *next;
};
struct vg_samples;

/* 0; -EINVAL, and then *line (from 1; 0: none) and *why say what is wrong; or another -errno. */
int vg_samples__read(
	const char *path, struct vg_samples **samples, unsigned long *line, const char **why);
void vg_samples__free(struct vg_samples *samples);
/* By the name as it is in the file, blanks apart; NULL: not in it. */
const struct vg_sample_set *vg_samples__find(const struct vg_samples *samples, const char *name);

#endif
