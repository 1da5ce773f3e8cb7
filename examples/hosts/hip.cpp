// xreduce kernels from a C++ program, by HIP's module API: HIP's headers and any C++17 compiler. The order of things and their
// reasons are in host.h.
//
//     xreduce bundle out --format header --out include
//     c++ -std=c++17 -D__HIP_PLATFORM_AMD__ -Iinclude hip.cpp -o hip -lamdhip64
//     ./hip 0 1          one argument per rank: the device that it runs on
#define XREDUCE_IMPLEMENTATION
#define XREDUCE_WITHOUT_NVPTX
#define XREDUCE_WITHOUT_SPIRV
#include "host.h"

#include <hip/hip_runtime_api.h>

#ifndef hipDeviceMallocUncached // a name that older headers lack; a runtime without this kind of memory refuses the value
#define hipDeviceMallocUncached 0x3
#endif

namespace {

struct Driver {
    int device;
    hipStream_t stream;
    hipModule_t code;
} drivers[XREDUCE_MOST_RANKS];

void must(hipError_t result, const char *what) {
    if (result != hipSuccess) {
        fprintf(stderr, "%s: %s\n", what, hipGetErrorString(result));
        exit(2);
    }
}
#define MUST(call) must(call, #call)

void *pointer(uint64_t address) { return reinterpret_cast<void *>(static_cast<uintptr_t>(address)); }

uint64_t allocate(uint64_t bytes) {
    void *memory = nullptr;
    MUST(hipMalloc(&memory, static_cast<size_t>(bytes)));
    return XREDUCE_ADDRESS(memory);
}

void open_rank(uint32_t r, int device) {
    hipDeviceProp_t properties;
    MUST(hipGetDeviceProperties(&properties, device));
    choose_target(r, XREDUCE_AMDGPU, properties.gcnArchName); // gfx942:sramecc+:xnack-
    ranks[r].compute_units = static_cast<uint32_t>(properties.multiProcessorCount);
    drivers[r].device = device;
    MUST(hipSetDevice(device));
    // Non-blocking: the default stream would make ranks on one device wait for each other.
    MUST(hipStreamCreateWithFlags(&drivers[r].stream, hipStreamNonBlocking));
    if (hipModuleLoadData(&drivers[r].code, ranks[r].module->data) != hipSuccess) {
        not_available(r, "the runtime does not take the module: is it older than the code object version?");
    }
    // Uncached: a peer's stores arrive behind this device's caches, which no instruction of RDNA goes around.
    void *workspace = nullptr;
    const size_t bytes = xreduce_workspace_bytes(world, INBOX_BYTES);
    if (hipExtMallocWithFlags(&workspace, bytes, hipDeviceMallocUncached) != hipSuccess) {
        not_available(r, "the runtime gives no uncached device memory");
    }
    ranks[r].workspace = XREDUCE_ADDRESS(workspace);
    ranks[r].in = allocate(MOST * sizeof(float));
    ranks[r].out = allocate(MOST * sizeof(float));
    warm_up(r);
}

// Every rank's device maps every other's memory, or one says why not.
void share() {
    for (uint32_t a = 0; a < world; a++) {
        for (uint32_t b = 0; b < world; b++) {
            int can = 0;
            if (drivers[a].device == drivers[b].device) {
                continue;
            }
            MUST(hipDeviceCanAccessPeer(&can, drivers[a].device, drivers[b].device));
            if (!can) {
                not_available(a, "its device cannot access a peer's memory");
            }
            MUST(hipSetDevice(drivers[a].device));
            const hipError_t result = hipDeviceEnablePeerAccess(drivers[b].device, 0);
            if (result == hipErrorPeerAccessAlreadyEnabled) {
                // Another library of the process has done it, which is well; but the error sticks. Taken back here, or whoever
                // asks for the last error next, after a launch of his own, is told of this one.
                (void)hipGetLastError();
            } else if (result != hipSuccess) {
                not_available(a, hipGetErrorString(result));
            }
        }
    }
}

} // namespace

static void launch(uint32_t r, const xreduce_kernel *kernel, const xreduce_call *call) {
    char arguments[XREDUCE_MOST_ARGUMENT_BYTES];
    size_t bytes = xreduce_pack(kernel, call, arguments);
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     HIP_LAUNCH_PARAM_END};
    hipFunction_t function; // an engine looks it up once
    MUST(hipSetDevice(drivers[r].device));
    MUST(hipModuleGetFunction(&function, drivers[r].code, kernel->symbol));
    MUST(hipModuleLaunchKernel(function, call->blocks, 1, 1, call->threads, 1, 1, 0, drivers[r].stream, nullptr, extra));
}

static void fill(uint32_t r, uint64_t at, uint8_t byte, size_t bytes) {
    MUST(hipSetDevice(drivers[r].device));
    MUST(hipMemsetAsync(pointer(at), byte, bytes, drivers[r].stream));
}

static void put(uint32_t r, uint64_t at, const void *from, size_t bytes) {
    // On the rank's own stream, whose order a plain copy does not keep.
    MUST(hipSetDevice(drivers[r].device));
    MUST(hipMemcpyAsync(pointer(at), from, bytes, hipMemcpyHostToDevice, drivers[r].stream));
    MUST(hipStreamSynchronize(drivers[r].stream)); // `from` may change afterwards
}

static void get(uint32_t r, uint64_t at, void *to, size_t bytes) {
    MUST(hipSetDevice(drivers[r].device));
    MUST(hipMemcpy(to, pointer(at), bytes, hipMemcpyDeviceToHost));
}

static void finish(uint32_t r) {
    MUST(hipSetDevice(drivers[r].device));
    MUST(hipStreamSynchronize(drivers[r].stream));
}

int main(int argc, char **argv) {
    if (argc < 3 || argc - 1 > XREDUCE_MOST_RANKS) {
        fprintf(stderr, "usage: hip DEVICE DEVICE [DEVICE ...]\n");
        return 2;
    }
    world = static_cast<uint32_t>(argc - 1);
    if (hipInit(0) != hipSuccess) {
        not_available(0, "no HIP runtime or device");
    }
    for (uint32_t r = 0; r < world; r++) {
        open_rank(r, atoi(argv[r + 1]));
    }
    share();
    return run();
}
