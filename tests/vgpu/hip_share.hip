// SPDX-License-Identifier: MIT
// Memory and events between processes: does what stdin says, a command a line, and answers each with
// a line. tests/vgpu/e2e_share.py plays several of these against each other.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#include <unistd.h>

static char *memory; // the current one
static size_t size = 1 << 20;
static hipEvent_t event;
static std::string answer;

static bool worked(hipError_t e)
{
	if (e != hipSuccess)
		answer = std::string("error ") + hipGetErrorName(e);
	return e == hipSuccess;
}

static std::string hex(const void *data, size_t bytes)
{
	std::string s;
	char two[3];

	for (size_t i = 0; i < bytes; i++) {
		snprintf(two, sizeof two, "%02x", ((const unsigned char *)data)[i]);
		s += two;
	}
	return s;
}

static void unhex(const std::string &text, void *data, size_t bytes)
{
	memset(data, 0, bytes);
	for (size_t i = 0; i < bytes && 2 * i + 1 < text.size(); i++)
		((unsigned char *)data)[i] = (unsigned char)strtoul(text.substr(2 * i, 2).c_str(), nullptr, 16);
}

// A pattern that is nowhere the same, so that a wrong offset shows.
static std::vector<unsigned> pattern(unsigned seed)
{
	std::vector<unsigned> v(size / 4);

	for (size_t i = 0; i < v.size(); i++)
		v[i] = seed * 2654435761u + (unsigned)i * 40503u;
	return v;
}

static void compare(const std::vector<unsigned> &is, unsigned seed)
{
	if (is != pattern(seed))
		answer = "wrong";
}

static void write_pattern(const std::string &arg)
{
	std::vector<unsigned> v = pattern((unsigned)atoi(arg.c_str()));

	worked(hipMemcpy(memory, v.data(), size, hipMemcpyHostToDevice));
}

static void check_pattern(const std::string &arg)
{
	std::vector<unsigned> v(size / 4);

	if (worked(hipMemcpy(v.data(), memory, size, hipMemcpyDeviceToHost)))
		compare(v, (unsigned)atoi(arg.c_str()));
}

// Through another buffer of this process: the copy engine or kernel reads the shared memory.
static void check_by_device(const std::string &arg)
{
	std::vector<unsigned> v(size / 4);
	char *own;

	if (worked(hipMalloc((void **)&own, size)) &&
		worked(hipMemcpy(own, memory, size, hipMemcpyDeviceToDevice)) &&
		worked(hipMemcpy(v.data(), own, size, hipMemcpyDeviceToHost)) && worked(hipFree(own)))
		compare(v, (unsigned)atoi(arg.c_str()));
}

static void write_by_device(const std::string &arg)
{
	std::vector<unsigned> v = pattern((unsigned)atoi(arg.c_str()));
	char *own;

	if (worked(hipMalloc((void **)&own, size)) &&
		worked(hipMemcpy(own, v.data(), size, hipMemcpyHostToDevice)) &&
		worked(hipMemcpy(memory, own, size, hipMemcpyDeviceToDevice)) &&
		worked(hipDeviceSynchronize()))
		worked(hipFree(own));
}

static void set_size(const std::string &arg)
{
	size = strtoul(arg.c_str(), nullptr, 0);
}

static void set_device(const std::string &arg)
{
	worked(hipSetDevice(atoi(arg.c_str())));
}

static void allocate(const std::string &)
{
	worked(hipMalloc((void **)&memory, size));
}

static void release(const std::string &)
{
	worked(hipFree(memory));
}

static void handle(const std::string &)
{
	hipIpcMemHandle_t h;

	if (worked(hipIpcGetMemHandle(&h, memory)))
		answer = hex(&h, sizeof h);
}

static void open_handle(const std::string &arg)
{
	hipIpcMemHandle_t h;

	unhex(arg, &h, sizeof h);
	worked(hipIpcOpenMemHandle((void **)&memory, h, hipIpcMemLazyEnablePeerAccess));
}

static void close_handle(const std::string &)
{
	worked(hipIpcCloseMemHandle(memory));
}

static void fill(const std::string &arg)
{
	if (worked(hipMemset(memory, atoi(arg.c_str()), size)))
		worked(hipDeviceSynchronize());
}

static void check_fill(const std::string &arg)
{
	std::vector<unsigned char> v(size);

	if (worked(hipMemcpy(v.data(), memory, size, hipMemcpyDeviceToHost)))
		for (unsigned char c : v)
			if (c != (unsigned char)atoi(arg.c_str()))
				answer = "wrong";
}

static void make_event(const std::string &)
{
	worked(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventInterprocess));
}

static void event_handle(const std::string &)
{
	hipIpcEventHandle_t h;

	if (worked(hipIpcGetEventHandle(&h, event)))
		answer = hex(&h, sizeof h);
}

static void open_event(const std::string &arg)
{
	hipIpcEventHandle_t h;

	unhex(arg, &h, sizeof h);
	worked(hipIpcOpenEventHandle(&event, h));
}

static void record(const std::string &)
{
	worked(hipEventRecord(event, nullptr));
}

static void wait(const std::string &)
{
	worked(hipEventSynchronize(event));
}

static void stream_wait(const std::string &)
{
	if (worked(hipStreamWaitEvent(nullptr, event, 0)))
		worked(hipDeviceSynchronize());
}

static void query(const std::string &)
{
	hipError_t e = hipEventQuery(event);

	answer = e == hipErrorNotReady ? "not ready" : e == hipSuccess ? "ready" : hipGetErrorName(e);
}

static void destroy_event(const std::string &)
{
	worked(hipEventDestroy(event));
}

static void free_memory(const std::string &)
{
	size_t available, total;

	if (worked(hipMemGetInfo(&available, &total)))
		answer = std::to_string(available) + " " + std::to_string(total);
}

static void generation(const std::string &)
{
	answer = std::to_string(HIP_VERSION_MAJOR);
}

int main()
{
	const std::map<std::string, void (*)(const std::string &)> commands = {
		{ "size", set_size }, { "device", set_device }, { "allocate", allocate },
		{ "free", release }, { "handle", handle }, { "open", open_handle },
		{ "close", close_handle }, { "write", write_pattern }, { "check", check_pattern },
		{ "write-by-device", write_by_device }, { "check-by-device", check_by_device },
		{ "fill", fill }, { "check-fill", check_fill }, { "event", make_event },
		{ "event-handle", event_handle }, { "open-event", open_event }, { "record", record },
		{ "wait", wait }, { "stream-wait", stream_wait }, { "query", query },
		{ "destroy-event", destroy_event }, { "free-memory", free_memory },
		{ "generation", generation },
	};
	char line[4096];

	while (fgets(line, sizeof line, stdin)) {
		std::string text = line, word, arg;

		text.erase(text.find_last_not_of("\n") + 1);
		word = text.substr(0, text.find(' '));
		arg = word.size() < text.size() ? text.substr(word.size() + 1) : "";
		if (word == "exit")
			return 0;
		answer = "ok";
		if (commands.count(word))
			commands.at(word)(arg);
		else
			answer = "what?";
		printf("%s\n", answer.c_str());
		fflush(stdout);
	}
	return 0;
}
