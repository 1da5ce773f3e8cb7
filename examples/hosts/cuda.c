/* xreduce kernels from a C program, by the CUDA driver API. The order of things and their reasons are in host.h.
 *
 *     xreduce bundle out --format header --out include
 *     cc -std=c11 -Iinclude -I$CUDA_HOME/include cuda.c -o cuda -lcuda
 *     ./cuda 0 1          one argument per rank: the device that it runs on (0 0: both ranks on device 0)
 */
#define XREDUCE_IMPLEMENTATION
#define XREDUCE_WITHOUT_AMDGPU
#define XREDUCE_WITHOUT_SPIRV
#include "host.h"

#include <cuda.h>

static struct {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUmodule code;
} drivers[XREDUCE_MOST_RANKS];

static void must(CUresult result, const char *what) {
    if (result != CUDA_SUCCESS) {
        const char *text = NULL;
        cuGetErrorString(result, &text);
        fprintf(stderr, "%s: %s\n", what, text ? text : "unknown error");
        exit(2);
    }
}
#define MUST(call) must(call, #call)

static void launch(uint32_t r, const struct xreduce_kernel *kernel, const struct xreduce_call *call) {
    char arguments[XREDUCE_MOST_ARGUMENT_BYTES];
    size_t bytes = xreduce_pack(kernel, call, arguments);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    CUfunction function; /* an engine looks it up once */
    MUST(cuCtxSetCurrent(drivers[r].context));
    MUST(cuModuleGetFunction(&function, drivers[r].code, kernel->symbol));
    MUST(cuLaunchKernel(function, call->blocks, 1, 1, call->threads, 1, 1, 0, drivers[r].stream, NULL, extra));
}

static void fill(uint32_t r, uint64_t at, uint8_t byte, size_t bytes) {
    MUST(cuCtxSetCurrent(drivers[r].context));
    MUST(cuMemsetD8Async(at, byte, bytes, drivers[r].stream));
}

static void put(uint32_t r, uint64_t at, const void *from, size_t bytes) {
    /* On the rank's own stream, whose order a plain copy does not keep; pageable memory is staged before this returns. */
    MUST(cuCtxSetCurrent(drivers[r].context));
    MUST(cuMemcpyHtoDAsync(at, from, bytes, drivers[r].stream));
}

static void get(uint32_t r, uint64_t at, void *to, size_t bytes) {
    MUST(cuCtxSetCurrent(drivers[r].context));
    MUST(cuMemcpyDtoH(to, at, bytes));
}

static void finish(uint32_t r) {
    MUST(cuCtxSetCurrent(drivers[r].context));
    MUST(cuStreamSynchronize(drivers[r].stream));
}

static uint64_t allocate(uint64_t bytes) {
    CUdeviceptr memory;
    MUST(cuMemAlloc(&memory, (size_t)bytes));
    return memory;
}

static void open_rank(uint32_t r, int ordinal) {
    int major = 0, minor = 0, units = 0;
    char processor[32];
    CUdevice device;
    MUST(cuDeviceGet(&device, ordinal));
    MUST(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    MUST(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    MUST(cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
    snprintf(processor, sizeof processor, "sm_%d%d", major, minor);
    choose_target(r, XREDUCE_NVPTX, processor);
    ranks[r].compute_units = (uint32_t)units;
    drivers[r].device = device;
    /* The primary context: the one that the runtime API and other libraries of the process use. */
    MUST(cuDevicePrimaryCtxRetain(&drivers[r].context, device));
    MUST(cuCtxSetCurrent(drivers[r].context));
    /* Non-blocking: the default stream would make ranks on one device wait for each other. */
    MUST(cuStreamCreate(&drivers[r].stream, CU_STREAM_NON_BLOCKING));
    if (cuModuleLoadData(&drivers[r].code, ranks[r].module->data) != CUDA_SUCCESS) {
        not_available(r, "the driver does not take the module: is it older than the PTX version?");
    }
    /* Plain device memory: a peer reaches it once its context has enabled access. */
    ranks[r].workspace = allocate(xreduce_workspace_bytes(world, INBOX_BYTES));
    ranks[r].in = allocate(MOST * sizeof(float));
    ranks[r].out = allocate(MOST * sizeof(float));
    warm_up(r);
}

/* Every rank's device maps every other's memory, or one says why not. */
static void share(void) {
    for (uint32_t a = 0; a < world; a++) {
        for (uint32_t b = 0; b < world; b++) {
            int can = 0;
            if (drivers[a].device == drivers[b].device) {
                continue;
            }
            MUST(cuDeviceCanAccessPeer(&can, drivers[a].device, drivers[b].device));
            if (!can) {
                not_available(a, "its device cannot access a peer's memory");
            }
            MUST(cuCtxSetCurrent(drivers[a].context));
            const CUresult result = cuCtxEnablePeerAccess(drivers[b].context, 0);
            /* Another library of the process may have done it; the driver API keeps no error behind. */
            if (result != CUDA_SUCCESS && result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
                not_available(a, "the driver refuses peer access");
            }
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || argc - 1 > XREDUCE_MOST_RANKS) {
        fprintf(stderr, "usage: cuda DEVICE DEVICE [DEVICE ...]\n");
        return 2;
    }
    world = (uint32_t)(argc - 1);
    if (cuInit(0) != CUDA_SUCCESS) {
        not_available(0, "no CUDA driver or device");
    }
    for (uint32_t r = 0; r < world; r++) {
        open_rank(r, atoi(argv[r + 1]));
    }
    share();
    return run();
}
