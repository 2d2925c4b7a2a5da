// SPDX-License-Identifier: MIT
// fork_tree [child ID DEPTH]: a tree of processes, made in every way there is, each of which uses
// the GPU by itself: process ID launches ID kernels of ID blocks. One forked child does not exec:
// it must not touch the GPU (the driver forbids it) and must end as it likes.
#include "workload.h"
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

__global__ void leaf(int *data)
{
	if (data)
		data[0] = 1;
}

static void use_gpu(int id)
{
	for (int i = 0; i < id; i++)
		leaf<<<id, 64>>>(nullptr);
	CHECK(hipGetLastError());
	CHECK(hipDeviceSynchronize());
}

static std::string self()
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n < 0)
		exit(1);
	return std::string(path, (size_t)n);
}

static void expect(const char *how, pid_t pid, int code)
{
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		WEXITSTATUS(status) != code) {
		printf("%s: status %#x instead of exit code %d\n", how, status, code);
		exit(1);
	}
	printf("%s: exit code %d\n", how, code);
	fflush(stdout);
}

static pid_t fork_and_exec(const std::string &path, const char *id, const char *depth)
{
	pid_t pid = fork();
	if (pid == 0) {
		execl(path.c_str(), path.c_str(), "child", id, depth, (char *)nullptr);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	std::string path = self();
	setvbuf(stdout, nullptr, _IOLBF, 0);
	if (argc == 4) { // a child: its exit code is its id
		int id = atoi(argv[2]), depth = atoi(argv[3]);
		use_gpu(id);
		if (depth > 0)
			expect("grandchild", fork_and_exec(path, "9", "0"), 9);
		return id;
	}
	use_gpu(1);

	pid_t pid = fork(); // without exec
	if (pid == 0) {
		volatile int sum = 0;
		for (int i = 0; i < 1000; i++)
			sum += i;
		_exit(sum == 499500 ? 33 : 1);
	}
	expect("fork", pid, 33);

	expect("fork+exec", fork_and_exec(path, "2", "1"), 2);

	pid = vfork();
	if (pid == 0) {
		execl(path.c_str(), path.c_str(), "child", "3", "0", (char *)nullptr);
		_exit(127);
	}
	expect("vfork+exec", pid, 3);

	char *const spawn_argv[] = {(char *)path.c_str(), (char *)"child", (char *)"4",
		(char *)"0", nullptr};
	if (posix_spawn(&pid, path.c_str(), nullptr, nullptr, spawn_argv, environ))
		return 1;
	expect("posix_spawn", pid, 4);

	int status = system(("'" + path + "' child 5 0").c_str());
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
		return 1;
	printf("system: exit code 5\n");

	FILE *pipe = popen(("'" + path + "' child 6 0").c_str(), "r");
	if (!pipe)
		return 1;
	status = pclose(pipe);
	printf("popen: exit code %d\n", WEXITSTATUS(status));

	use_gpu(7); // the parent's GPU still works after all that
	printf("fork_tree: done\n");
	fflush(stdout);
	execl(path.c_str(), path.c_str(), "child", "8", "0", (char *)nullptr);
	return 1;
}
