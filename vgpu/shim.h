// SPDX-License-Identifier: MIT
/* What the interposed calls share. */
#ifndef VGPU_SHIM_H
#define VGPU_SHIM_H

#include <dlfcn.h>
#include <stdatomic.h>

/* The next definition of a function, looked up once. */
#define NEXT(type, name)                                                                           \
	({                                                                                         \
		static _Atomic(void *) next_;                                                      \
		void *p_ = atomic_load_explicit(&next_, memory_order_relaxed);                     \
		if (!p_) {                                                                         \
			p_ = dlsym(RTLD_NEXT, name);                                               \
			atomic_store_explicit(&next_, p_, memory_order_relaxed);                   \
		}                                                                                  \
		(type) p_;                                                                         \
	})

/* The private directory must not show in a result. Returns its argument. */
char *vg_strip_root(char *resolved);

#endif
