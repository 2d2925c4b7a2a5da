// SPDX-License-Identifier: MIT
// What HIP programs do, with the data checked. First argument: which part; exits 0 if all is right.
#include "hip_check.h"
#include <cstring>
#include <string>
#include <thread>
#include <vector>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void work_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}
__global__ void work_scale(float *a, float f)
{
	a[threadIdx.x] *= f;
}
__global__ void work_empty() {}
__global__ void work_long() {}

static bool all(const std::vector<unsigned char> &v, size_t from, size_t to, unsigned char x)
{
	for (size_t i = from; i < to; i++)
		if (v[i] != x)
			return false;
	return true;
}

static void copies()
{
	const size_t n = 1 << 20;
	std::vector<unsigned char> h(n), r(n);
	char *a, *b;

	for (size_t i = 0; i < n; i++)
		h[i] = (unsigned char)(i * 13 + i / 255);
	CK(hipMalloc(&a, n));
	CK(hipMalloc(&b, n));
	for (size_t size : { (size_t)1, (size_t)4, (size_t)100, (size_t)4096, (size_t)70001, n - 64 }) {
		CK(hipMemset(a, 0, n));
		CK(hipMemset(b, 0xff, n));
		CK(hipMemcpy(a, h.data(), size, hipMemcpyHostToDevice));
		CK(hipMemcpy(b + 16, a, size, hipMemcpyDeviceToDevice));
		memset(r.data(), 1, n);
		CK(hipMemcpy(r.data(), b, n, hipMemcpyDeviceToHost));
		check("copied there and back", !memcmp(r.data() + 16, h.data(), size));
		check("nothing beside it", all(r, 0, 16, 0xff) && all(r, 16 + size, n, 0xff));
	}
	CK(hipMemset(a, 0x5a, n));
	CK(hipMemset(a + 3, 0x77, 1001));
	CK(hipMemcpy(r.data(), a, n, hipMemcpyDeviceToHost));
	check("fill", all(r, 0, 3, 0x5a) && all(r, 3, 1004, 0x77) && all(r, 1004, n, 0x5a));
	CK(hipMemset2D(a, 256, 0x11, 100, 10));
	CK(hipMemcpy(r.data(), a, 2560, hipMemcpyDeviceToHost));
	for (int y = 0; y < 10; y++)
		check("2D fill", all(r, y * 256, y * 256 + 100, 0x11) &&
					 (y == 3 || all(r, y * 256 + 100, y * 256 + 256, r[y * 256 + 200])));
	CK(hipMemcpy2D(a, 512, h.data(), 64, 60, 64, hipMemcpyHostToDevice));
	CK(hipMemcpy2D(b, 128, a, 512, 60, 64, hipMemcpyDeviceToDevice));
	memset(r.data(), 0, n);
	CK(hipMemcpy2D(r.data(), 64, b, 128, 60, 64, hipMemcpyDeviceToHost));
	for (int y = 0; y < 64; y++)
		check("2D copy", !memcmp(&r[y * 64], &h[y * 64], 60));
	CK(hipFree(a));
	CK(hipFree(b));
}

static void registered()
{
	const size_t n = 1 << 20;
	char *h = (char *)aligned_alloc(4096, n), *d;
	std::vector<char> r(n);

	for (size_t i = 0; i < n; i++)
		h[i] = (char)(i * 3);
	CK(hipHostRegister(h, n, 0));
	CK(hipMalloc(&d, n));
	CK(hipMemcpyAsync(d, h, n, hipMemcpyHostToDevice, 0));
	CK(hipMemcpy(r.data(), d, n, hipMemcpyDeviceToHost));
	check("registered host memory", !memcmp(r.data(), h, n));
	CK(hipHostUnregister(h));
	CK(hipFree(d));
	free(h);
}

static void streams()
{
	const int cnt = 8;
	const size_t n = 1 << 18;
	hipStream_t s[cnt];
	hipEvent_t e[cnt], begin, end;
	float *h, *d, ms = -1;

	CK(hipHostMalloc(&h, n * cnt));
	CK(hipMalloc(&d, n * cnt));
	CK(hipEventCreate(&begin));
	CK(hipEventCreate(&end));
	for (int i = 0; i < cnt; i++) {
		CK(hipStreamCreate(&s[i]));
		CK(hipEventCreateWithFlags(&e[i], hipEventDisableTiming));
	}
	/* each stream waits for the one before: the data runs through all of them */
	memset(h, 0x3c, n);
	CK(hipEventRecord(begin, s[0]));
	CK(hipMemcpyAsync(d, h, n, hipMemcpyHostToDevice, s[0]));
	for (int i = 0; i < cnt; i++) {
		work_scale<<<1, 64, 0, s[i]>>>(d, 2.0f);
		if (i)
			CK(hipMemcpyAsync((char *)d + i * n, (char *)d + (i - 1) * n, n,
				hipMemcpyDeviceToDevice, s[i]));
		CK(hipEventRecord(e[i], s[i]));
		if (i + 1 < cnt)
			CK(hipStreamWaitEvent(s[i + 1], e[i], 0));
	}
	CK(hipMemcpyAsync((char *)h + n, (char *)d + (cnt - 1) * n, n, hipMemcpyDeviceToHost, s[cnt - 1]));
	CK(hipEventRecord(end, s[cnt - 1]));
	CK(hipEventSynchronize(end));
	check("data through 8 streams", !memcmp(h, (char *)h + n, n));
	CK(hipEventElapsedTime(&ms, begin, end));
	check("event times", ms > 0);
	CK(hipDeviceSynchronize());
	for (int i = 0; i < cnt; i++) {
		CK(hipStreamDestroy(s[i]));
		CK(hipEventDestroy(e[i]));
	}
	CK(hipEventDestroy(begin));
	CK(hipEventDestroy(end));
	CK(hipHostFree(h));
	CK(hipFree(d));
}

static hipGraph_t capture(hipStream_t s, char *d, char *h, size_t n, float f)
{
	hipGraph_t g;

	CK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
	CK(hipMemcpyAsync(d, h, n, hipMemcpyHostToDevice, s));
	work_add<<<n / 256, 64, 0, s>>>((float *)d, (float *)d, (float *)d, (int)(n / 4));
	work_scale<<<1, 64, 0, s>>>((float *)d, f);
	CK(hipMemcpyAsync(h + n, d, n, hipMemcpyDeviceToHost, s));
	CK(hipStreamEndCapture(s, &g));
	return g;
}

static void graphs()
{
	const size_t n = 1 << 16;
	hipGraphExecUpdateResult result;
	hipGraphNode_t node = nullptr;
	hipGraph_t g[2];
	hipGraphExec_t exec;
	hipStream_t s;
	char *h, *d;

	CK(hipStreamCreate(&s));
	CK(hipHostMalloc(&h, 2 * n));
	CK(hipMalloc(&d, n));
	g[0] = capture(s, d, h, n, 2);
	g[1] = capture(s, d, h, n, 3);
	CK(hipGraphInstantiate(&exec, g[0], nullptr, nullptr, 0));
	for (int i = 0; i < 10; i++) {
		memset(h, i + 1, n);
		memset(h + n, 0, n);
		CK(hipGraphLaunch(exec, s));
		CK(hipStreamSynchronize(s));
		check("graph replay", !memcmp(h, h + n, n));
	}
	CK(hipGraphExecUpdate(exec, g[1], &node, &result));
	check("graph update", result == hipGraphExecUpdateSuccess);
	CK(hipGraphLaunch(exec, s));
	CK(hipStreamSynchronize(s));
	CK(hipGraphExecDestroy(exec));
	CK(hipGraphDestroy(g[0]));
	CK(hipGraphDestroy(g[1]));
	CK(hipStreamDestroy(s));
	CK(hipHostFree(h));
	CK(hipFree(d));
}

static void threads()
{
	std::vector<std::thread> t;

	for (int i = 0; i < 4; i++)
		t.emplace_back([] {
			hipStream_t s;

			CK(hipStreamCreate(&s));
			for (int k = 0; k < 250; k++) {
				work_empty<<<1, 64, 0, s>>>();
				if (k % 50 == 0)
					CK(hipStreamSynchronize(s));
			}
			CK(hipStreamSynchronize(s));
			CK(hipStreamDestroy(s));
		});
	for (auto &x : t)
		x.join();
}

static void peers(int cnt)
{
	std::vector<char> h(1 << 18), r(h.size());
	std::vector<void *> d(cnt);

	for (size_t i = 0; i < h.size(); i++)
		h[i] = (char)(i * 5);
	for (int i = 0; i < cnt; i++) {
		CK(hipSetDevice(i));
		CK(hipMalloc(&d[i], h.size()));
	}
	CK(hipMemcpy(d[0], h.data(), h.size(), hipMemcpyHostToDevice));
	for (int i = 1; i < cnt; i++)
		CK(hipMemcpyPeer(d[i], i, d[i - 1], i - 1, h.size()));
	CK(hipMemcpy(r.data(), d[cnt - 1], h.size(), hipMemcpyDeviceToHost));
	check("data through all GPUs", h == r);
	for (int i = 0; i < cnt; i++)
		CK(hipFree(d[i]));
}

static void everything()
{
	int cnt = 0;

	CK(hipGetDeviceCount(&cnt));
	for (int i = 0; i < cnt; i++) {
		CK(hipSetDevice(i));
		copies();
		registered();
		streams();
		graphs();
		threads();
	}
	if (cnt > 1)
		peers(cnt);
	printf("%d GPUs\n", cnt);
}

/* A kernel or copy count that the log must show exactly. */
static void counted(int n)
{
	hipStream_t s[2];
	char *h, *d;

	CK(hipStreamCreate(&s[0]));
	CK(hipStreamCreate(&s[1]));
	CK(hipHostMalloc(&h, 1 << 20));
	CK(hipMalloc(&d, 1 << 20));
	for (int i = 0; i < n; i++) {
		work_empty<<<dim3(i + 1, 2, 3), dim3(4, 5, 6), 128, s[i % 2]>>>();
		if (i % 10 == 0)
			CK(hipMemcpyAsync(d, h, 1000000, hipMemcpyHostToDevice, s[i % 2]));
	}
	work_long<<<1, 64, 0, s[0]>>>();
	CK(hipDeviceSynchronize());
	CK(hipFree(d));
	CK(hipHostFree(h));
}

/* fork and exec: children that use the GPU, one that does not, and the parent goes on. */
static void family(const char *self)
{
	work_empty<<<1, 64>>>();
	CK(hipDeviceSynchronize());
	for (int i = 0; i < 3; i++) {
		int status = -1;
		pid_t pid = fork();

		if (!pid) {
			if (i == 0)
				_exit(0);
			execl(self, self, i == 1 ? "tiny" : "none", (char *)nullptr);
			_exit(3);
		}
		waitpid(pid, &status, 0);
		check("child", status == 0);
	}
	work_empty<<<1, 64>>>();
	CK(hipDeviceSynchronize());
}

static void tiny()
{
	work_empty<<<1, 64>>>();
	CK(hipDeviceSynchronize());
}

/* A little on every GPU. */
static void every()
{
	int cnt = 0;

	CK(hipGetDeviceCount(&cnt));
	for (int i = 0; i < cnt; i++) {
		CK(hipSetDevice(i));
		registered();
		tiny();
	}
	peers(cnt);
	printf("%d GPUs\n", cnt);
}

/* Code comes and goes: the same addresses get other kernels. */
static void modules(char **file)
{
	for (int i = 0; i < 20; i++) {
		const char *other = i % 2 ? "other_" : "rules_";
		hipFunction_t f[2];
		hipModule_t m;

		CK(hipModuleLoad(&m, file[i % 2]));
		CK(hipModuleGetFunction(&f[0], m, (std::string(other) + "long").c_str()));
		CK(hipModuleGetFunction(&f[1], m, (std::string(other) + "short").c_str()));
		for (int k = 0; k < 2; k++) {
			unsigned long long args[2] = { 1, 2 };
			size_t size = 16 - 8 * k;
			void *config[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, args,
				HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END };

			CK(hipModuleLaunchKernel(f[k], i + 1, 1, 1, 1, 1, 1, 0, 0, nullptr, config));
		}
		CK(hipDeviceSynchronize());
		CK(hipModuleUnload(m));
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";

	if (!strcmp(what, "none"))
		return 0;
	if (!strcmp(what, "all"))
		everything();
	if (!strcmp(what, "modules"))
		modules(argv + 2);
	if (!strcmp(what, "every"))
		every();
	if (!strcmp(what, "counted"))
		counted(atoi(argv[2]));
	if (!strcmp(what, "family"))
		family(argv[0]);
	if (!strcmp(what, "tiny"))
		tiny();
	if (!strcmp(what, "fork-first")) { /* both use the GPU, each for itself */
		int status = -1;
		pid_t pid = fork();

		tiny();
		if (!pid)
			exit(0);
		waitpid(pid, &status, 0);
		check("child", status == 0);
		tiny();
	}
	if (!strcmp(what, "alloc")) { /* memory really goes back */
		for (int i = 0; i < 300; i++) {
			char *d;

			CK(hipMalloc(&d, 64 << 20));
			CK(hipMemset(d, i, 64 << 20));
			CK(hipDeviceSynchronize());
			CK(hipFree(d));
		}
	}
	if (!strcmp(what, "launch-and-ask")) { /* never waits: asks, until an error or for ever */
		for (int i = 0; i < 10; i++)
			work_empty<<<1, 64>>>();
		for (;;) {
			hipError_t e = hipStreamQuery(0);

			if (e != hipSuccess && e != hipErrorNotReady)
				return 3;
			usleep(10000);
		}
	}
	if (!strcmp(what, "big")) { /* too much, then less */
		char *d;
		hipError_t e = hipMalloc(&d, 256 << 20);

		(void)hipGetLastError();
		CK(hipMalloc(&d, 1 << 20));
		printf("%s, then 1 MiB\n", e == hipErrorOutOfMemory ? "out of memory" : hipGetErrorString(e));
		CK(hipFree(d));
	}
	if (!strcmp(what, "exec")) { /* uses the GPU, becomes another program */
		tiny();
		execvp(argv[2], argv + 2);
	}
	if (!strcmp(what, "_exit")) {
		tiny();
		_exit(7);
	}
	if (!strcmp(what, "crash")) {
		tiny();
		abort();
	}
	if (!strcmp(what, "kill-self")) { /* the moment it knows that all is complete */
		for (int i = 0; i < 100; i++)
			work_empty<<<1, 64>>>();
		CK(hipDeviceSynchronize());
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(what, "hang")) { /* work in flight, to be killed */
		tiny();
		for (int i = 0; i < 10; i++)
			work_long<<<1, 64>>>();
		puts("in flight");
		fflush(stdout);
		for (;;)
			pause();
	}
	return wrong != 0;
}
