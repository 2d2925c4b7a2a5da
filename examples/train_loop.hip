// SPDX-License-Identifier: MIT
// train_loop [STEPS]: the shape of a training step. A loader stream copies the next batch while
// forward and backward run on the compute stream; gradients are reduced on a third stream as soon
// as their layer is done; the optimizer waits for all of them; the loss comes back every step.
#include "common.h"
#include <cstring>

constexpr int layers = 4;
constexpr int batch = 1 << 14;
constexpr size_t batch_bytes = batch * sizeof(float);

__global__ void forward_layer(const float *in, const float *weights, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = fmaxf(in[i] * weights[i], 0.0f);
}

__global__ void backward_layer(const float *out, const float *weights, float *gradient, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		gradient[i] = out[i] > 0 ? weights[i] : 0.0f;
}

__global__ void reduce_gradient(float *gradient, int n)
{
	extern __shared__ float partial[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	partial[threadIdx.x] = i < n ? gradient[i] : 0.0f;
	__syncthreads();
	if (i < n)
		gradient[i] = partial[threadIdx.x] / 2;
}

__global__ void adam_step(float *weights, const float *gradient, float rate, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		weights[i] -= rate * gradient[i];
}

int main(int argc, char **argv)
{
	int steps = argument(argc, argv, 20), wrong = 0;
	hipStream_t loader, compute, reducer;
	CHECK(hipStreamCreateWithFlags(&loader, hipStreamNonBlocking));
	CHECK(hipStreamCreateWithFlags(&compute, hipStreamNonBlocking));
	CHECK(hipStreamCreateWithPriority(&reducer, hipStreamNonBlocking, 0));

	float *host[2], *input[2], *activation[layers], *weights[layers], *gradient[layers];
	float *loss, *echo;
	hipEvent_t loaded[2], used[2], layer_done[layers], reduced, stepped;
	for (int i = 0; i < 2; i++) {
		CHECK(hipHostMalloc((void **)&host[i], batch_bytes));
		CHECK(hipMalloc((void **)&input[i], batch_bytes));
		CHECK(hipEventCreateWithFlags(&loaded[i], hipEventDisableTiming));
		CHECK(hipEventCreateWithFlags(&used[i], hipEventDisableTiming));
	}
	for (int i = 0; i < layers; i++) {
		CHECK(hipMalloc((void **)&activation[i], batch_bytes));
		CHECK(hipMalloc((void **)&weights[i], batch_bytes));
		CHECK(hipMalloc((void **)&gradient[i], batch_bytes));
		CHECK(hipMemset(weights[i], 0, batch_bytes));
		CHECK(hipEventCreateWithFlags(&layer_done[i], hipEventDisableTiming));
	}
	CHECK(hipEventCreateWithFlags(&reduced, hipEventDisableTiming));
	CHECK(hipEventCreateWithFlags(&stepped, hipEventDisableTiming));
	CHECK(hipHostMalloc((void **)&loss, sizeof(float)));
	CHECK(hipHostMalloc((void **)&echo, batch_bytes));

	for (int step = 0; step < steps; step++) {
		int now = step & 1;
		if (step >= 2)
			CHECK(hipEventSynchronize(used[now]));
		for (int i = 0; i < batch; i++)
			host[now][i] = (float)(step + i);
		CHECK(hipMemcpyAsync(input[now], host[now], batch_bytes, hipMemcpyHostToDevice, loader));
		CHECK(hipEventRecord(loaded[now], loader));

		CHECK(hipStreamWaitEvent(compute, loaded[now], 0));
		for (int l = 0; l < layers; l++)
			forward_layer<<<batch / 256, 256, 0, compute>>>(
				l ? activation[l - 1] : input[now], weights[l], activation[l], batch);
		for (int l = layers - 1; l >= 0; l--) {
			backward_layer<<<dim3(batch / 256, 1, 1), dim3(64, 4, 1), 0, compute>>>(
				activation[l], weights[l], gradient[l], batch);
			CHECK(hipEventRecord(layer_done[l], compute));
			CHECK(hipStreamWaitEvent(reducer, layer_done[l], 0));
			reduce_gradient<<<batch / 256, 256, 256 * sizeof(float), reducer>>>(
				gradient[l], batch);
		}
		CHECK(hipEventRecord(reduced, reducer));
		CHECK(hipStreamWaitEvent(compute, reduced, 0));
		for (int l = 0; l < layers; l++)
			adam_step<<<batch / 512, 512, 0, compute>>>(
				weights[l], gradient[l], 0.001f, batch);
		LAUNCHED();
		CHECK(hipMemcpyAsync(loss, input[now] + 7, sizeof(float), hipMemcpyDeviceToHost,
			compute));
		CHECK(hipEventRecord(used[now], compute));
		CHECK(hipEventRecord(stepped, compute));
		CHECK(hipEventSynchronize(stepped));
		wrong += *loss != (float)(step + 7);
	}
	CHECK(hipMemcpy(echo, input[(steps - 1) & 1], batch_bytes, hipMemcpyDeviceToHost));
	wrong += memcmp(echo, host[(steps - 1) & 1], batch_bytes) != 0;

	for (int i = 0; i < 2; i++) {
		CHECK(hipHostFree(host[i]));
		CHECK(hipFree(input[i]));
		CHECK(hipEventDestroy(loaded[i]));
		CHECK(hipEventDestroy(used[i]));
	}
	for (int i = 0; i < layers; i++) {
		CHECK(hipFree(activation[i]));
		CHECK(hipFree(weights[i]));
		CHECK(hipFree(gradient[i]));
		CHECK(hipEventDestroy(layer_done[i]));
	}
	CHECK(hipEventDestroy(reduced));
	CHECK(hipEventDestroy(stepped));
	CHECK(hipHostFree(loss));
	CHECK(hipHostFree(echo));
	CHECK(hipStreamDestroy(loader));
	CHECK(hipStreamDestroy(compute));
	CHECK(hipStreamDestroy(reducer));
	printf("train_loop: %d steps, %d kernels, %d wrong\n", steps, steps * layers * 4, wrong);
	return wrong != 0;
}
