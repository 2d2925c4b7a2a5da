// SPDX-License-Identifier: MIT
/* What to record, from the words that people type. */
#ifndef WT_COLLECT_SETTINGS_H
#define WT_COLLECT_SETTINGS_H

#include <stddef.h>

#include "core/session.h"

struct wt_err;

/* The defaults of every option. */
void wt_settings__defaults(struct wt_settings *settings);

/* "kernel,copy,hip": replaces settings->want. -EINVAL names the word that is not known. */
int wt_settings__want(struct wt_settings *settings, const char *list, struct wt_err **err);

enum wt_settings_source { /* --source */
	WT_SOURCE_AUTO = 0,
	WT_SOURCE_HSA,
	WT_SOURCE_HIP,
	WT_SOURCE_SDK,
	WT_SOURCE_ROCTRACER,
};

/* What --mode can name a word of. */
struct wt_settings_words {
	unsigned hip;    /* enum wt_hip_mode */
	unsigned graph;  /* enum wt_graph_mode */
	unsigned depth;  /* enum wt_depth */
	unsigned source; /* enum wt_settings_source */
};

/* --mode and RTL_MODE: one word of --depth, --hip, --graph or --source. */
int wt_settings__mode(struct wt_settings_words *words, const char *word, struct wt_err **err);

/* Into `settings`. -EINVAL: "not yet", for words whose meaning is still to come. */
int wt_settings__take(
	struct wt_settings *settings, const struct wt_settings_words *words, struct wt_err **err);

/* The least --buffer with which a program of one thread and one queue can be recorded. */
#define WT_BUFFER_BYTES_MIN (8ull << 20)

/* --buffer. -EINVAL: less than that. */
int wt_settings__buffer(struct wt_settings *settings, uint64_t bytes, struct wt_err **err);

#endif
