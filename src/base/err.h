// SPDX-License-Identifier: MIT
/*
 * Errors of offline code: a code and a chain of causes. The function that
 * fails starts the chain, each level above adds what it was doing, and the
 * command line prints the chain once:
 *
 *   wavetap: cannot write the trace: /data/x.db: No space left on device
 *   hint: free some space, or write elsewhere with -o
 *
 * Every function accepts err == NULL (the caller does not want the text).
 * Running out of memory while an error is made yields a constant error, so
 * *err is never NULL after a failure. An error is freed by wt_err__free.
 */
#ifndef WT_BASE_ERR_H
#define WT_BASE_ERR_H

#include <stdio.h>

struct wt_err;

/*
 * Starts a chain, replacing what *err held; `code` is a negative errno.
 * Returns `code`, so that `return wt_err__new(err, -EINVAL, "…")` works.
 */
int wt_err__new(struct wt_err **err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As wt_err__new, and strerror(-code) is the innermost cause. */
int wt_err__errno(struct wt_err **err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds what the caller was doing, in front of the chain. Returns the chain's code. */
int wt_err__wrap(struct wt_err **err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets what the user can do. The innermost hint stays: it knows most. */
void wt_err__hint(struct wt_err **err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

int wt_err__code(const struct wt_err *err);              /* 0 for NULL */
const char *wt_err__text(const struct wt_err *err);      /* "outer: inner: cause"; "" for NULL */
const char *wt_err__hint_text(const struct wt_err *err); /* "" when there is none */

/* The two lines above, to `file`. Nothing for NULL. */
void wt_err__print(FILE *file, const struct wt_err *err);
void wt_err__free(struct wt_err *err);
/* The failure was got over: *err is NULL again. */
void wt_err__clear(struct wt_err **err);

/* For __attribute__((cleanup)). */
static inline void wt_err__cleanup(struct wt_err **err)
{
	wt_err__free(*err);
}

#define WT_ERR_AUTO __attribute__((cleanup(wt_err__cleanup))) struct wt_err *

#endif
