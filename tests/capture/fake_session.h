// SPDX-License-Identifier: MIT
/* A session without a collector: the directory, its header, a heartbeat. */
#ifndef FAKE_SESSION_H
#define FAKE_SESSION_H

#include "core/session.h"

/* Makes it and names it in WAVETAP_SESSION. One at a time. */
struct wt_session_shared *fake_session__start(void);
void fake_session__stop(void);
const char *fake_session__dir(void);
/* The same as a test group's set-up and tear-down. */
int fake_session__set_up(void **state);
int fake_session__tear_down(void **state);

/* Maps a file of the session; NULL if it is not there. */
void *fake_session__map(enum wt_file_kind kind, uint32_t process, uint32_t number, size_t *bytes);

#endif
