// SPDX-License-Identifier: MIT
/*
 * A growing array of any type:
 *
 *   WT_VEC(struct event) events = {0};
 *
 *   if (wt_vec__push(&events, event))
 *           return -ENOMEM;
 *   for (size_t i = 0; i < events.cnt; i++)
 *           use(&events.data[i]);
 *   wt_vec__free(&events);
 */
#ifndef WT_BASE_VEC_H
#define WT_BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define WT_VEC(type)                                                                               \
	struct {                                                                                   \
		type *data;                                                                        \
		size_t cnt, capacity;                                                              \
	}

/* Room for `need` items of `item_bytes` in all; returns 0 or -ENOMEM with *data unchanged. */
int wt_vec__grow(void *data, size_t *capacity, size_t need, size_t item_bytes);

#define wt_vec__reserve(vec, need)                                                                 \
	((need) <= (vec)->capacity ? 0                                                             \
				   : wt_vec__grow(&(vec)->data, &(vec)->capacity, (need),          \
					     sizeof(*(vec)->data)))

/* Appends `item` by value. 0 or -ENOMEM. */
#define wt_vec__push(vec, ...)                                                                     \
	(wt_vec__reserve((vec), (vec)->cnt + 1) ? -ENOMEM                                          \
						: ((vec)->data[(vec)->cnt++] = (__VA_ARGS__), 0))

#define wt_vec__last(vec) (&(vec)->data[(vec)->cnt - 1])

#define wt_vec__free(vec)                                                                          \
	do {                                                                                       \
		free((vec)->data);                                                                 \
		(vec)->data = NULL;                                                                \
		(vec)->cnt = (vec)->capacity = 0;                                                  \
	} while (0)

#endif
