// SPDX-License-Identifier: MIT
/*
 * A double of libamdhip64: each function keeps the bytes of its arguments and returns what it was
 * told to.
 *
 * generate.py writes the functions from HIP's headers; this is what they share with the program
 * that calls them. One `struct echo` a thread, found by hip_double__echo().
 *
 * Environment: HIP_DOUBLE_REGISTER=SONAME registers the dispatch tables with that library at the
 * first call, as HIP does since ROCm 6.2, and the exported functions call through them.
 * HIP_DOUBLE_MEMBERS=N: the "hip" table has but its first N functions, as an older one.
 * HIP_DOUBLE_RESOLVE=dlsym: hipGetProcAddress asks dlsym; else it knows the addresses.
 */
#ifndef WT_DOUBLES_HIP_ECHO_H
#define WT_DOUBLES_HIP_ECHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ECHO_BYTES        512
#define ECHO_RETURN_BYTES 64

struct echo {
	/* what the last call was */
	const char *name;
	uint32_t call_cnt;
	uint32_t bytes;
	unsigned char arguments[ECHO_BYTES]; /* one after the other, without padding */
	/* what the next one does */
	unsigned char ret[ECHO_RETURN_BYTES];
	int err;       /* the errno that it leaves */
	bool resolves; /* hipGetProcAddress looks the symbol up */
	/* the runtime's own */
	int last_error;
};

struct echo *hip_double__echo(void);
/* The address of an exported function, without asking the loader. NULL: there is none. */
void *hip_double__find(const char *symbol);
/* How many words behind the end of the dispatch tables somebody has written. */
unsigned int hip_double__overrun(void);

/* ---- between the generated functions and echo.c ---- */
enum echo_return {
	ECHO_ERROR, /* a hipError_t, which becomes the thread's last error */
	ECHO_VALUE,
	ECHO_PEEK, /* the last error */
	ECHO_TAKE, /* the last error, which becomes 0 */
};

struct echo_function {
	const char *symbol; /* exported under; NULL: only a member of a table */
	void *exported;
	void *own;
	short table; /* which; -1: a member of none */
	short member;
};

struct echo_table {
	const char *name;
	uint32_t version;
	uint32_t member_cnt;
	size_t *table; /* the size, then the functions, then words that nobody may write */
	size_t words;
};

extern const struct echo_function echo_functions[];
extern const unsigned int echo_function_cnt;
extern struct echo_table echo_tables[];
extern const unsigned int echo_table_cnt;

struct echo *echo__begin(const char *name);
void echo__put(struct echo *echo, const void *argument, size_t bytes);
void echo__end(struct echo *echo, void *ret, size_t bytes, enum echo_return kind);
/* Which function an exported one calls. */
void *echo__entry(unsigned int function);
/* As hipGetProcAddress: 0, or the error of an unknown symbol. */
int echo__resolve(const char *symbol, void **function);

#endif
