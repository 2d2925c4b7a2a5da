// SPDX-License-Identifier: MIT
#include "collect/fault.h"

int (*wt_fault_hook)(const char *what);
