// SPDX-License-Identifier: MIT
/* What generate.py tells of each function that libamdhip64 exports, for the program that calls them
 * all. */
#ifndef WT_DOUBLES_HIP_CALL_H
#define WT_DOUBLES_HIP_CALL_H

#include <stdint.h>

enum call_kind {
	CALL_NONE,
	CALL_BITS,
	CALL_BOOL,
	CALL_ADDRESS, /* a handle, a callback, or memory that only the runtime may look at */
	CALL_POINTER, /* to something that the program owns */
	CALL_ERROR,   /* hipError_t */
	CALL_RESULT,  /* hiprtcResult: does not become the last error */
	CALL_LAST_ERROR,
};

struct call_parameter {
	uint16_t kind;
	uint16_t bytes;
};

struct call_function {
	const char *name;
	const char *symbol;
	const char *version;
	/* `arguments`: one after the other, without padding */
	void (*call)(void *function, const unsigned char *arguments, void *result);
	void *linked; /* NULL in the program that is not linked with the library */
	const struct call_parameter *parameters;
	uint16_t parameter_cnt;
	uint16_t returns;
	uint32_t return_bytes;
};

extern const struct call_function call_functions[];
extern const unsigned int call_function_cnt;

#endif
