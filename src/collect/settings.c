// SPDX-License-Identifier: MIT
#include "collect/settings.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "collect/collector.h"
#include "core/ring.h"
#include "core/slot.h"

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
	if (!want) {
		int rc = wt_err__new(err, -EINVAL, "-t names nothing to record");

		wt_err__hint(err, "-t takes kernel,copy,hip,roctx,mem");
		return rc;
	}
	if (want == WT_WANT_ROCTX) {
		int rc = wt_err__new(err, -EINVAL, "not yet: -t roctx comes in a later version");

		wt_err__hint(err, "-t kernel,copy,hip records what there is");
		return rc;
	}
	if (want & WT_WANT_MEM && !(want & WT_WANT_HIP)) {
		int rc = wt_err__new(
			err, -EINVAL, "-t mem without hip: what allocates are HIP calls");

		wt_err__hint(err, "-t %s,hip", list);
		return rc;
	}
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

int wt_settings__mode(struct wt_settings_words *words, const char *word, struct wt_err **err)
{
	unsigned *const fields[] = {
		[FIELD_DEPTH] = &words->depth,
		[FIELD_HIP] = &words->hip,
		[FIELD_GRAPH] = &words->graph,
		[FIELD_SOURCE] = &words->source,
	};
	int rc;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(modes[i].word, word))
			continue;
		if (modes[i].field != FIELD_NONE)
			*fields[modes[i].field] = modes[i].value;
		return 0;
	}
	rc = wt_err__new(err, -EINVAL, "--mode does not know %s", word);
	wt_err__hint(err, "it takes a word of --depth, --hip, --graph or --source: lite, standard, "
			  "full, work, all, node, graph, auto, hsa, hip, sdk, roctracer");
	return rc;
}

int wt_settings__take(
	struct wt_settings *settings, const struct wt_settings_words *words, struct wt_err **err)
{
	static const char *const graphs[] = {"node", "graph", "off"};
	static const char *const sources[] = {"auto", "hsa", "hip", "sdk", "roctracer"};
	int rc;

	if (words->graph != WT_GRAPH_NODE) {
		rc = wt_err__new(err, -EINVAL, "not yet: --graph %s comes in a later version",
			graphs[words->graph]);
		wt_err__hint(err, "without it every kernel of a graph replay is recorded");
		return rc;
	}
	if (words->source > WT_SOURCE_HSA) {
		rc = wt_err__new(err, -EINVAL, "not yet: --source %s comes in a later version",
			sources[words->source]);
		wt_err__hint(err, "without it operations come from HSA queues, the only source "
				  "for now");
		return rc;
	}
	settings->hip = (uint8_t)words->hip;
	settings->graph = (uint8_t)words->graph;
	settings->depth = (uint8_t)words->depth;
	return 0;
}

/* A process file, a thread's ring, and a queue's slot table. */
static_assert(WT_PROCESS_FILE_BYTES + WT_RING_HEADER_BYTES + WT_RING_BYTES_DEFAULT +
			      WT_SLOTS_FILE_BYTES(WT_SLOTS_MIN_CAPACITY) <=
		      WT_BUFFER_BYTES_MIN,
	"one thread and one queue");

int wt_settings__buffer(struct wt_settings *settings, uint64_t bytes, struct wt_err **err)
{
	int rc;

	settings->buffer_bytes = bytes;
	if (bytes >= WT_BUFFER_BYTES_MIN)
		return 0;
	rc = wt_err__new(err, -EINVAL, "--buffer is too small to record anything: %llu bytes",
		(unsigned long long)bytes);
	wt_err__hint(err, "--buffer %lluM is the least; each thread and each queue takes some MiB",
		WT_BUFFER_BYTES_MIN >> 20);
	return rc;
}
