// SPDX-License-Identifier: MIT
#include "attribute/blit.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *prefix;
	enum wt_blit blit;
} prefixes[] = {
	{"__amd_rocclr_copyBuffer", WT_BLIT_COPY}, /* …Aligned, …Rect, …RectAligned, …Ext */
	{"__amd_rocclr_fillBuffer", WT_BLIT_FILL}, /* …Aligned, …Aligned2D */
};

enum wt_blit wt_blit__of_kernel(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			return prefixes[i].blit;
	return WT_BLIT_NONE;
}
