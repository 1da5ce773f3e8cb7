// Stands in for libcuda.so.1: two devices that reach each other. Declarations as in NVIDIA's cuda.h.
// SCENE: "two", "none", "old" (a driver older than the device).
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef int CUdevice;
typedef int CUdevice_attribute;

static int is(const char *name) { return strcmp(getenv("SCENE"), name) == 0; }

CUresult cuInit(unsigned int flags) { return is("none") ? 100 : is("old") ? 803 : (int)flags; }

CUresult cuDeviceGetCount(int *count) {
    *count = 2;
    return 0;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    *device = 70 + ordinal; // a handle need not be the number
    return 0;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice device) {
    strncpy(name, "NVIDIA H200", len);
    return device < 70;
}

CUresult cuDeviceGetPCIBusId(char *bus_id, int len, CUdevice device) {
    strncpy(bus_id, device == 71 ? "0000:3B:00.0" : "0000:16:00.0", len);
    return device < 70;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : -1;
    return device < 70;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    *can = 1;
    return device < 70 || peer < 70;
}

CUresult cuGetErrorName(CUresult code, const char **name) {
    *name = code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : NULL;
    return code == 803 ? 0 : 1;
}
