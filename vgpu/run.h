// SPDX-License-Identifier: MIT
/* vgpu-run's parts. */
#ifndef VGPU_RUN_H
#define VGPU_RUN_H

#include <signal.h>
#include <sys/types.h>

enum { EXIT_OWN = 125, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

/* Prints "vgpu-run: what" and "hint: hint", and returns the exit code. */
int run_fail(int code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets an environment variable for the command. 0 or an exit code. */
int run_set(const char *variable, const char *value);
int run_set_path(const char *variable, const char *path); /* made absolute */

/* --fault and --kernels, which may come several times. 0 or an exit code, having said why. */
int run_add_fault(const char *value);
int run_add_kernels(const char *value);

/* An option about time, by its name. 0 or an exit code, having said why. */
int run_times__apply(const char *name, const char *value);

/* The GPUs' clocks; the moment at which they begin is added. */
int run_clock__set(const char *list);

/* The log FILE and its FILE.spool. Each returns 0 or an exit code, having said why. */
int run_log__begin(const char *file);
int run_log__finish(const char *file);
/* Waits until no process of the tree that opened the device lives any more, or *stop is set. */
void run_log__wait(const char *file, volatile sig_atomic_t *stop);

#endif
