// SPDX-License-Identifier: MIT
// modules CODE_OBJECT [MODULES] [THREADS]: loads one code object again and again with another
// kernel name each time, launches that kernel and unloads it. The runtime hands out the same
// addresses again and again: a kernel's address says nothing without the time.
#include "workload.h"
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

static const char placeholder[] = "module_kernel_000000";

static std::vector<char> read_file(const char *path)
{
	std::vector<char> bytes;
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		exit(1);
	}
	char buffer[65536];
	for (size_t n; (n = fread(buffer, 1, sizeof(buffer), file)) > 0;)
		bytes.insert(bytes.end(), buffer, buffer + n);
	fclose(file);
	return bytes;
}

static void rename(std::vector<char> &bytes, const char *to)
{
	size_t n = strlen(placeholder);
	for (size_t i = 0; i + n <= bytes.size(); i++)
		if (!memcmp(&bytes[i], placeholder, n))
			memcpy(&bytes[i], to, n);
}

static std::atomic<int> next;

static void work(const std::vector<char> *original, int modules)
{
	hipStream_t stream;
	CHECK(hipStreamCreate(&stream));
	for (int number; (number = next++) < modules;) {
		char name[sizeof(placeholder)];
		snprintf(name, sizeof(name), "module_kernel_%06d", number);
		std::vector<char> bytes = *original;
		rename(bytes, name);
		hipModule_t module;
		hipFunction_t function;
		CHECK(hipModuleLoadData(&module, bytes.data()));
		CHECK(hipModuleGetFunction(&function, module, name));
		void *data = nullptr, *arguments[] = {&data};
		for (int i = 0; i <= number % 3; i++)
			CHECK(hipModuleLaunchKernel(function, 1 + number % 101, 1, 1, 64, 1, 1, 0,
				stream, arguments, nullptr));
		CHECK(hipStreamSynchronize(stream));
		CHECK(hipModuleUnload(module));
	}
	CHECK(hipStreamDestroy(stream));
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: modules CODE_OBJECT [MODULES] [THREADS]\n");
		return 2;
	}
	int modules = argument(argc, argv, 2, 1000), threads = argument(argc, argv, 3, 4);
	std::vector<char> original = read_file(argv[1]);
	std::vector<std::thread> all;
	CHECK(hipFree(nullptr));
	for (int i = 0; i < threads; i++)
		all.emplace_back(work, &original, modules);
	for (std::thread &thread : all)
		thread.join();
	printf("modules: %d modules by %d threads\n", modules, threads);
	return 0;
}
