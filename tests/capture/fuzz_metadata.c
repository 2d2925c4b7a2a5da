// SPDX-License-Identifier: MIT
/* Code objects of any bytes: read to some end, and never beyond it. */
#include <stdbool.h>

#include "capture/sources/hsa/metadata.h"
#include "code_object.h"
#include "fuzz.h"

static bool look(const char *name, size_t length, const struct wt_kernel_facts *facts, void *arg)
{
	volatile char sum = 0;
	char text[80];

	for (size_t i = 0; i < length; i++)
		sum = (char)(sum + name[i]);
	(void)sum;
	wt_metadata__arguments(facts, text, sizeof(text));
	if (!length || !facts)
		abort();
	return ++*(unsigned *)arg < 1000;
}

int main(int argc, char **argv)
{
	static const uint8_t heads[] = {0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc4, 0xc6,
		0xc7, 0xc9, 0xca, 0xcf, 0xd0, 0xd3, 0xd8, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xff};
	static struct code_object code;
	struct fuzz fuzz = {0};

	fuzz_start(&fuzz, argc, argv);
	do {
		unsigned cnt = 0;
		size_t bytes;
		uint8_t *copy;

		make_code_object(&code, fuzz_below(&fuzz, 10));
		for (uint32_t changes = fuzz_below(&fuzz, 8); changes; changes--)
			code.bytes[fuzz_below(&fuzz, (uint32_t)code.used)] =
				fuzz_below(&fuzz, 2) ? (uint8_t)fuzz_below(&fuzz, 256)
						     : heads[fuzz_below(&fuzz, sizeof(heads))];
		bytes = fuzz_below(&fuzz, 4) ? code.used
					     : fuzz_below(&fuzz, (uint32_t)code.used + 1);
		copy = malloc(bytes ? bytes : 1);
		memcpy(copy, code.bytes, bytes);
		wt_metadata__each(copy, bytes, look, &cnt);
		free(copy);
	} while (fuzz_goes_on(&fuzz));
	return 0;
}
