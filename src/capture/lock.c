// SPDX-License-Identifier: MIT
#include "capture/capture.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

void wt_hold__begin(struct wt_hold *hold)
{
	/* what tells of a crash must get through */
	static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	sigset_t most;

	/* counted once it is in force: a handler that comes before has a hold of its own */
	if (!wt_tls.holds) {
		sigfillset(&most);
		for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
			sigdelset(&most, kept[i]);
		pthread_sigmask(SIG_BLOCK, &most, &hold->signals);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &hold->cancel);
	}
	wt_tls.holds++;
}

void wt_hold__end(const struct wt_hold *hold)
{
	if (--wt_tls.holds)
		return;
	pthread_setcancelstate(hold->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &hold->signals, NULL);
}

void wt_lock__take(struct wt_lock *lock, struct wt_hold *hold)
{
	uint32_t open = 0;
	int saved = errno;

	wt_hold__begin(hold);
	/* acquire: pairs with the release in wt_lock__drop */
	if (atomic_compare_exchange_strong_explicit(&lock->word, &open, 1, memory_order_acquire,
		    memory_order_relaxed))
		return;
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0)
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	errno = saved;
}

void wt_lock__drop(struct wt_lock *lock, const struct wt_hold *hold)
{
	int saved = errno;

	if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
		syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	wt_hold__end(hold);
	errno = saved;
}
