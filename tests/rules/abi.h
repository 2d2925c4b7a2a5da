// SPDX-License-Identifier: MIT
#ifndef TESTS_RULES_ABI_H
#define TESTS_RULES_ABI_H

#ifdef __cplusplus
extern "C" {
#endif

/* 0 if the same; else 1 and a line. */
int abi__same(const char *what, unsigned long ours, unsigned long theirs);
int abi__check_slot(void);
unsigned long abi__queue_write_index(void);
unsigned long abi__queue_read_index(void);

#ifdef __cplusplus
}
#endif

#endif
