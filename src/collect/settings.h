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

/* --mode and RTL_MODE: one word of --depth, --hip, --graph or --source. */
int wt_settings__mode(
	struct wt_settings *settings, unsigned *source, const char *word, struct wt_err **err);

#endif
