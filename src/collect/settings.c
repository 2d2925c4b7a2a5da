// SPDX-License-Identifier: MIT
#include "collect/settings.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "collect/collector.h"

void wt_settings__defaults(struct wt_settings *settings)
{
	*settings = (struct wt_settings){
		.want = WT_WANT_DEFAULT,
		.hip = WT_HIP_WORK,
		.graph = WT_GRAPH_NODE,
		.depth = WT_DEPTH_FULL,
		.follow = 1,
		.buffer_bytes = WT_BUFFER_BYTES_DEFAULT,
		.ring_bytes = WT_RING_BYTES_DEFAULT,
	};
}

static const struct {
	const char *word;
	uint32_t want; /* 0: known, not recorded yet */
} wants[] = {
	{"kernel", WT_WANT_KERNEL},
	{"copy", WT_WANT_COPY},
	{"hip", WT_WANT_HIP},
	{"roctx", WT_WANT_ROCTX},
	{"mem", WT_WANT_MEM},
	{"rccl", 0},
	{"mpi", 0},
	{"power", 0},
};

static int want_word(uint32_t *want, const char *word, size_t length, struct wt_err **err)
{
	int rc;

	for (size_t i = 0; i < sizeof(wants) / sizeof(*wants); i++) {
		if (strlen(wants[i].word) != length || memcmp(wants[i].word, word, length))
			continue;
		if (!wants[i].want)
			return wt_err__new(err, -EINVAL, "not yet: -t %s comes in a later version",
				wants[i].word);
		*want |= wants[i].want;
		return 0;
	}
	rc = wt_err__new(err, -EINVAL, "-t does not know %.*s", (int)length, word);
	wt_err__hint(err, "-t takes kernel,copy,hip,roctx,mem");
	return rc;
}

int wt_settings__want(struct wt_settings *settings, const char *list, struct wt_err **err)
{
	uint32_t want = 0;

	for (const char *at = list; *at;) {
		size_t length = strcspn(at, ",");
		int rc = length ? want_word(&want, at, length, err) : 0;

		if (rc)
			return rc;
		at += length;
		at += *at == ',';
	}
	if (!want)
		return wt_err__new(err, -EINVAL, "-t names nothing to record");
	settings->want = want;
	return 0;
}

enum field { FIELD_NONE, FIELD_DEPTH, FIELD_HIP, FIELD_GRAPH, FIELD_SOURCE };

/* "off" is left out: it could be --hip's or --graph's. */
static const struct {
	const char *word;
	enum field field;
	uint8_t value;
} modes[] = {
	{"default", FIELD_NONE, 0},
	{"lite", FIELD_DEPTH, WT_DEPTH_LITE},
	{"standard", FIELD_DEPTH, WT_DEPTH_STANDARD},
	{"full", FIELD_DEPTH, WT_DEPTH_FULL},
	{"work", FIELD_HIP, WT_HIP_WORK},
	{"all", FIELD_HIP, WT_HIP_ALL},
	{"node", FIELD_GRAPH, WT_GRAPH_NODE},
	{"graph", FIELD_GRAPH, WT_GRAPH_GRAPH},
	{"auto", FIELD_SOURCE, WT_SOURCE_AUTO},
	{"hsa", FIELD_SOURCE, WT_SOURCE_HSA},
	{"hip", FIELD_SOURCE, WT_SOURCE_HIP},
	{"sdk", FIELD_SOURCE, WT_SOURCE_SDK},
	{"roctracer", FIELD_SOURCE, WT_SOURCE_ROCTRACER},
};

int wt_settings__mode(
	struct wt_settings *settings, unsigned *source, const char *word, struct wt_err **err)
{
	int rc;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i].word, word))
			continue;
		switch (modes[i].field) {
		case FIELD_DEPTH:
			settings->depth = modes[i].value;
			break;
		case FIELD_HIP:
			settings->hip = modes[i].value;
			break;
		case FIELD_GRAPH:
			settings->graph = modes[i].value;
			break;
		case FIELD_SOURCE:
			*source = modes[i].value;
			break;
		case FIELD_NONE:
			break;
		}
		return 0;
	}
	rc = wt_err__new(err, -EINVAL, "--mode does not know %s", word);
	wt_err__hint(err, "it takes a word of --depth, --hip, --graph or --source: lite, standard, "
			  "full, work, all, node, graph, auto, hsa, hip, sdk, roctracer");
	return rc;
}
