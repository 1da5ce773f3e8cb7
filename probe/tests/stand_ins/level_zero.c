// Stands in for libze_loader.so.1: one driver with two devices that do not reach each other. Declarations as in ze_api.h.
// SCENE: "two", "none", "lost" (the device stopped answering).
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int ze_result_t;
typedef uint32_t ze_init_flags_t;
typedef uint8_t ze_bool_t;
typedef struct _ze_driver_handle_t *ze_driver_handle_t;
typedef struct _ze_device_handle_t *ze_device_handle_t;

typedef struct {
    int stype;
    void *pNext;
    int type;
    uint32_t vendorId, deviceId, flags, subdeviceId, coreClockRate;
    uint64_t maxMemAllocSize;
    uint32_t maxHardwareContexts, maxCommandQueuePriority, numThreadsPerEU, physicalEUSimdWidth, numEUsPerSubslice,
        numSubslicesPerSlice, numSlices;
    uint64_t timerResolution;
    uint32_t timestampValidBits, kernelTimestampValidBits;
    uint8_t uuid[16];
    char name[256];
} ze_device_properties_t;

typedef struct {
    int stype;
    void *pNext;
    struct {
        uint32_t domain, bus, device, function;
    } address;
    struct {
        int32_t genVersion, width;
        int64_t maxBandwidth;
    } maxSpeed;
} ze_pci_ext_properties_t;

static int is(const char *name) { return strcmp(getenv("SCENE"), name) == 0; }

ze_result_t zeInit(ze_init_flags_t flags) { return is("none") ? 0x78000001 : flags == 1 ? 0 : 1; }

ze_result_t zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers) {
    if (drivers)
        drivers[0] = (ze_driver_handle_t)8;
    *count = 1;
    return 0;
}

ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *devices) {
    if (devices && *count == 2) {
        devices[0] = (ze_device_handle_t)16;
        devices[1] = (ze_device_handle_t)24;
    }
    *count = 2;
    return driver == (ze_driver_handle_t)8 ? 0 : 1;
}

ze_result_t zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t *properties) {
    if (is("lost"))
        return 0x70000001;
    strcpy(properties->name, device == (ze_device_handle_t)16 ? "Arc one" : "Arc two");
    return properties->stype == 3 ? 0 : 1;
}

ze_result_t zeDevicePciGetPropertiesExt(ze_device_handle_t device, ze_pci_ext_properties_t *properties) {
    properties->address.bus = device == (ze_device_handle_t)16 ? 3 : 0x43;
    return properties->stype == 0x10008 ? 0 : 1;
}

ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t device, ze_device_handle_t peer, ze_bool_t *can) {
    *can = device == peer;
    return 0;
}
