// SPDX-License-Identifier: MIT
/* What the mutation loops share: random numbers from a printed seed, and a time limit. */
#ifndef WT_TESTS_FUZZ_H
#define WT_TESTS_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct fuzz {
	uint64_t state, rounds;
	struct timespec end;
};

/* usage: fuzz_x [seconds] [seed]; a failure is repeated with the seed that was printed. */
static inline void fuzz_start(struct fuzz *fuzz, int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;

	clock_gettime(CLOCK_MONOTONIC, &fuzz->end);
	fuzz->state = argc > 2 ? strtoull(argv[2], NULL, 0)
			       : (uint64_t)fuzz->end.tv_nsec << 20 ^ (uint64_t)fuzz->end.tv_sec;
	fuzz->state |= 1;
	fuzz->end.tv_sec += (time_t)seconds;
	fprintf(stderr, "seed: 0x%llx\n", (unsigned long long)fuzz->state);
}

static inline bool fuzz_goes_on(struct fuzz *fuzz)
{
	struct timespec now;

	fuzz->rounds++;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec < fuzz->end.tv_sec ||
	       (now.tv_sec == fuzz->end.tv_sec && now.tv_nsec < fuzz->end.tv_nsec);
}

/* Below `limit`. */
static inline uint32_t fuzz_below(struct fuzz *fuzz, uint32_t limit)
{
	fuzz->state ^= fuzz->state << 13;
	fuzz->state ^= fuzz->state >> 7;
	fuzz->state ^= fuzz->state << 17;
	return (uint32_t)(fuzz->state >> 32) % limit;
}

#endif
