// Stands in for libamdhip64.so: two devices, the second reached one way only. Declarations as in HIP's hip_runtime_api.h.
// SCENE: "runs", "refuses" (hostcall kernels, at the launch), "late" (the same, at the wait), "lost" (without a word), "none".
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int hipError_t;
typedef int hipDevice_t;
typedef int hipMemcpyKind;
typedef void *hipModule_t;
typedef const char *hipFunction_t;
typedef void *hipStream_t;

static const char *scene(void) { return getenv("SCENE"); }
static int is(const char *name) { return strcmp(scene(), name) == 0; }
static hipError_t pending;

hipError_t hipInit(unsigned int flags) { return flags; }

hipError_t hipGetDeviceCount(int *count) {
    *count = is("none") ? 0 : 2;
    return is("none") ? 100 : 0;
}

hipError_t hipDeviceGetName(char *name, int len, hipDevice_t device) {
    strncpy(name, device ? "Radeon two" : "Radeon one", len);
    return 0;
}

hipError_t hipDeviceGetPCIBusId(char *bus_id, int len, int device) {
    strncpy(bus_id, device ? "0000:0a:00.0" : "0000:03:00.0", len);
    return 0;
}

hipError_t hipDeviceCanAccessPeer(int *can, int device, int peer) {
    *can = device == 0;
    return device == peer;
}

hipError_t hipSetDevice(int device) { return device < 2 ? 0 : 101; }

hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
    *module = (void *)image;
    return memcmp(image, "code for gfx1201", 16) ? 209 : 0;
}

hipError_t hipModuleUnload(hipModule_t module) { return module == NULL; }

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
    *function = strdup(name);
    return module == NULL;
}

hipError_t hipMalloc(void **pointer, size_t bytes) {
    *pointer = malloc(bytes);
    return *pointer == NULL;
}

hipError_t hipFree(void *pointer) {
    free(pointer);
    return 0;
}

hipError_t hipMemset(void *pointer, int value, size_t bytes) {
    memset(pointer, value, bytes);
    return 0;
}

hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
    memcpy(to, from, bytes);
    return kind == 2 ? 0 : 1;
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                 unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                                 hipStream_t stream, void **parameters, void **extra) {
    if (grid_x * grid_y * grid_z * block_x * block_y * block_z != 1 || shared || stream || extra)
        return 1;
    int hostcall = strcmp(function, "xreduce_probe_hostcall") == 0;
    if (hostcall && is("refuses"))
        return 401;
    if (hostcall && is("late"))
        pending = 401;
    else if (!hostcall || !is("lost"))
        **(uint32_t **)parameters[0] = hostcall ? 0x0b0ffe12 : 0x00701a17;
    return 0;
}

hipError_t hipDeviceSynchronize(void) {
    hipError_t result = pending;
    pending = 0;
    return result;
}

const char *hipGetErrorName(hipError_t code) { return code == 401 ? "hipErrorIllegalState" : "hipErrorOther"; }
