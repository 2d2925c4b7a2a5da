// SPDX-License-Identifier: MIT
/*
 * The loader's own dlsym and dlvsym. This library defines functions of those
 * names for the program (dlsym.c); what it looks up itself goes this way.
 */
#ifndef WT_CAPTURE_DL_H
#define WT_CAPTURE_DL_H

#include <stdbool.h>

typedef void *wt_dlsym_fn(void *handle, const char *name);
typedef void *wt_dlvsym_fn(void *handle, const char *name, const char *version);

/*
 * libc's. Found in its symbol table at the first call, without a look-up by
 * name. NULL: this libc has none, and nothing can be looked up.
 */
wt_dlsym_fn *wt_dl__sym(void);
wt_dlvsym_fn *wt_dl__vsym(void);

/* The definition of `name` that comes after this library's own in the search order, or NULL. */
void *wt_dl__next(const char *name);

/* WAVETAP_NO_DLSYM, or a processor for which dlsym is not interposed. */
bool wt_dl__look_ups_off(void);

#endif
