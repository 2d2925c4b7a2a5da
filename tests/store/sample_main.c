// SPDX-License-Identifier: MIT
/* store_sample FILE [wavetap|rpd] [append]: the sample trace, for tests in other languages. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "sample.h"

int main(int argc, char **argv)
{
	bool rpd = argc > 2 && !strcmp(argv[2], "rpd"), append = argc > 3;
	WT_ERR_AUTO err = NULL;

	if (argc < 2)
		return 2;
	if (sample__write(argv[1], rpd ? WT_SCHEMA_RPD : WT_SCHEMA_WAVETAP,
		    append ? WT_STORE_APPEND : WT_STORE_REPLACE, &err)) {
		wt_err__print(stderr, err);
		return 1;
	}
	return 0;
}
