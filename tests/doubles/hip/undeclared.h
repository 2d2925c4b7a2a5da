/* SPDX-License-Identifier: MIT */
/*
 * Prototypes of functions that libamdhip64 exports and that no installed header may declare. Read
 * by generate.py after HIP's headers, inside extern "C".
 *
 * - __hipRegister*, __hipUnregister*: what the compiler emits calls of (clang, CGCUDANV.cpp). Since
 *   ROCm 6.2 hip_api_trace.hpp has their types too; generate.py tells of contradictions.
 * - hipGetDeviceProperties, hipChooseDevice: since ROCm 6.0 these names are macros for the R0600
 *   functions, and the symbols are kept for programs that were compiled before.
 * - *_before6: functions of that name that were C++, whose symbols are kept likewise.
 * - hipLaunchKernelGGLImpl: hip/amd_detail/functional_grid_launch.hpp, but only for another
 *   compiler.
 * - hipRegisterTracerCallback: ROCm/clr, hipamd/src/hip_intercept.cpp.
 */
void **__hipRegisterFatBinary(const void *data);
void __hipUnregisterFatBinary(void **modules);
void __hipRegisterFunction(void **modules, const void *host, char *device, const char *name,
	unsigned int threads, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __hipRegisterVar(void **modules, void *var, char *host, char *device, int ext, size_t bytes,
	int constant, int global);
void __hipRegisterManagedVar(void *module, void **pointer, void *initial, const char *name,
	size_t bytes, unsigned int align);
void __hipRegisterSurface(void **modules, void *var, char *host, char *device, int type, int ext);
void __hipRegisterTexture(
	void **modules, void *var, char *host, char *device, int type, int norm, int ext);

#if HIP_VERSION_MAJOR >= 6
#undef hipGetDeviceProperties
#undef hipChooseDevice
hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000 *properties, int device);
hipError_t hipChooseDevice(int *device, const hipDeviceProp_tR0000 *properties);

void hipRegisterTracerCallback(int (*function)(int domain, uint32_t operation, void *data));

hipError_t hipExtModuleLaunchKernel_before6(hipFunction_t f, uint32_t global_x, uint32_t global_y,
	uint32_t global_z, uint32_t local_x, uint32_t local_y, uint32_t local_z, size_t shared,
	hipStream_t stream, void **params, void **extra, hipEvent_t start, hipEvent_t stop,
	uint32_t flags) __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStr"
				"eam_tPPvS4_P11ihipEvent_tS6_j");
hipError_t hipHccModuleLaunchKernel_before6(hipFunction_t f, uint32_t global_x, uint32_t global_y,
	uint32_t global_z, uint32_t local_x, uint32_t local_y, uint32_t local_z, size_t shared,
	hipStream_t stream, void **params, void **extra, hipEvent_t start,
	hipEvent_t stop) __asm__("_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_"
				 "tjjjjjjmP12ihipStream_tPPvS4_P11ih"
				 "ipEvent_tS6_");
#else
void hipLaunchKernelGGLImpl(uintptr_t function, const dim3 *grid, const dim3 *block,
	uint32_t shared, hipStream_t stream,
	void **kernarg) __asm__("_ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_"
				"tPPv");
#endif
