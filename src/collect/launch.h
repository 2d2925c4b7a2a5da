// SPDX-License-Identifier: MIT
/*
 * Starting the program that is to be traced. It is forked first, so that its
 * pid is known while nothing has happened yet, and waits until it is let go.
 */
#ifndef WT_COLLECT_LAUNCH_H
#define WT_COLLECT_LAUNCH_H

#include <limits.h>
#include <sys/types.h>

struct wt_err;

struct wt_launch {
	pid_t pid;
	int go_fd;   /* the child waits at its other end */
	int exec_fd; /* tells how exec went */
};

/* What the environment gets, beside what is in it. */
struct wt_launch_environment {
	/* libwavetap.so: into LD_PRELOAD and HSA_TOOLS_LIB; LD_PRELOAD also gets
	   libwavetap_register.so, which lies beside it */
	const char *library;
	const char *session_dir;
	const char *source; /* WAVETAP_SOURCE; NULL: as it is */
	int no_dlsym;       /* WAVETAP_NO_DLSYM=1 */
};

/* The path of libwavetap.so that belongs to this program. */
int wt_launch__find_library(char path[PATH_MAX], struct wt_err **err);

/* Can `name` be executed? 0, 126 (not executable) or 127 (not found) with *err. */
int wt_launch__check(const char *name, struct wt_err **err);

int wt_launch__fork(struct wt_launch *launch, char *const *argv, struct wt_err **err);
/* Lets it go with `environment`. 0 when it was executed, else the negative errno of exec. */
int wt_launch__go(struct wt_launch *launch, const struct wt_launch_environment *environment);
/* It ends without having executed anything. */
void wt_launch__cancel(struct wt_launch *launch);

#endif
