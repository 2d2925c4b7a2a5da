// SPDX-License-Identifier: MIT
/* The options --fault and --kernels, checked before anything runs. */
#include "fault.h"
#include "kernel_file.h"
#include "run.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* An option that may come several times: its values, separated. */
static int append(const char *variable, bool first, char separator, const char *value)
{
	const char *old = first ? NULL : getenv(variable);
	char *list;
	int code;

	if (!old)
		return run_set(variable, value);
	if (asprintf(&list, "%s%c%s", old, separator, value) < 0)
		return run_fail(EXIT_OWN, "free some memory", "out of memory");
	code = run_set(variable, list);
	free(list);
	return code;
}

int run_add_fault(const char *value)
{
	struct vg_fault_rule rules[VG_MAX_FAULTS];
	static bool again;
	char why[256];
	int code;

	if (!*value || vg_fault__parse(value, rules, why, sizeof why) < 0)
		return run_fail(EXIT_OWN, "--fault stall,kernel=gemm,for=20ms", "--fault %s: %s",
			value, *value ? why : "it is empty");
	code = append("VGPU_FAULT", !again, ';', value);
	again = true;
	if (!code && vg_fault__parse(getenv("VGPU_FAULT"), rules, why, sizeof why) < 0)
		return run_fail(EXIT_OWN, "leave some away", "--fault %s: %s", value, why);
	return code;
}

/* Opened in a child: it may do anything when it is loaded. */
static int check_kernels(const char *path)
{
	char why[512];
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return run_fail(EXIT_OWN, "is there a limit on processes?", "cannot fork: %s",
			strerror(errno));
	if (!pid) {
		bool ok = vg_kernels__open(path, why, sizeof why) != NULL;

		if (!ok)
			run_fail(EXIT_OWN,
				"build it with cc -shared -fPIC, with VGPU_KERNELS(table) in it",
				"--kernels: %s", why);
		_exit(ok ? 0 : EXIT_OWN);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return run_fail(EXIT_OWN, "look at its constructors",
			"--kernels %s: loading it ended with signal %d", path, WTERMSIG(status));
	return status ? EXIT_OWN : 0; /* it said why */
}

int run_add_kernels(const char *value)
{
	char path[PATH_MAX];
	static bool again;
	int code;

	if (!realpath(value, path))
		return run_fail(EXIT_OWN, "name a shared object", "--kernels %s: %s", value,
			strerror(errno));
	if (strchr(path, ':'))
		return run_fail(EXIT_OWN, "move it to a path without colons",
			"--kernels %s: VGPU_KERNELS has no way to write this path", path);
	code = check_kernels(path);
	if (!code)
		code = append("VGPU_KERNELS", !again, ':', path);
	again = true;
	return code;
}
