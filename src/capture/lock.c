// SPDX-License-Identifier: MIT
#include "capture/capture.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void wt_lock__take(struct wt_lock *lock)
{
	uint32_t open = 0;
	int saved = errno;

	/* acquire: pairs with the release in wt_lock__drop */
	if (atomic_compare_exchange_strong_explicit(&lock->word, &open, 1, memory_order_acquire,
		    memory_order_relaxed))
		return;
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	errno = saved;
}

void wt_lock__drop(struct wt_lock *lock)
{
	int saved = errno;

	if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
		syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}
