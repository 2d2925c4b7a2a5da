// SPDX-License-Identifier: MIT
/* Kernel names for people. The names come from the traced program: any bytes, any length. */
#ifndef WT_CLI_DEMANGLE_H
#define WT_CLI_DEMANGLE_H

enum wt_names {
	WT_NAMES_SHORT = 0,   /* kernel<float, 4>: no return type, namespaces and parameters */
	WT_NAMES_FULL = 1,    /* void ns::kernel<float, 4>(float*, int) */
	WT_NAMES_MANGLED = 2, /* as in the code object */
};

/* In new memory; a name that cannot be demangled stays as it is. NULL: out of memory. */
char *wt_demangle(const char *name, enum wt_names names);

/* Shortens a demangled name in place. */
void wt_demangle__shorten(char *name);

#endif
