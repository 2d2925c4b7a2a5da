// SPDX-License-Identifier: MIT
#ifndef PLUGIN_H
#define PLUGIN_H

#define SHOWN __attribute__((visibility("default")))

SHOWN void *plugin_default(const char *name);
SHOWN void *plugin_next(const char *name);

/* interposer.c: calls of its dlsym so far */
SHOWN int interposer_calls(void);

/* early.c: what its resolver was told while the process was put together */
SHOWN int early_answer(void);

#endif
