// SPDX-License-Identifier: MIT
#include "base/vec.h"

#include <stdint.h>
#include <string.h>

int wt_vec__grow(void *data, size_t *capacity, size_t need, size_t item_bytes)
{
	size_t fresh_capacity = *capacity ? *capacity : 8;
	void *old, *fresh;

	while (fresh_capacity < need) {
		if (fresh_capacity > SIZE_MAX / 2)
			return -ENOMEM;
		fresh_capacity *= 2;
	}
	if (fresh_capacity > SIZE_MAX / item_bytes)
		return -ENOMEM;
	/* the pointer's type is the caller's: copied, not cast */
	memcpy(&old, data, sizeof(old));
	fresh = realloc(old, fresh_capacity * item_bytes);
	if (!fresh)
		return -ENOMEM;
	memcpy(data, &fresh, sizeof(fresh));
	*capacity = fresh_capacity;
	return 0;
}
