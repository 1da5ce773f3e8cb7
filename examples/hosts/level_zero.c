/* xreduce kernels from a C program, by Level Zero. The order of things and their reasons are in host.h.
 *
 *     xreduce bundle out --format header --out include
 *     cc -std=c11 -Iinclude level_zero.c -o level_zero -lze_loader
 *     ./level_zero 0 1          one argument per rank: the device, of the first driver, that it runs on
 */
#define XREDUCE_IMPLEMENTATION
#define XREDUCE_WITHOUT_AMDGPU
#define XREDUCE_WITHOUT_NVPTX
#include "host.h"

#include <level_zero/ze_api.h>

#ifndef ZE_DEVICE_IP_VERSION_EXT_NAME /* Level Zero, ZE_extension_device_ip_version: older headers lack it */
typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    uint32_t ipVersion; /* major << 22 | minor << 14 | revision */
} ze_device_ip_version_ext_t;
#define ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT ((ze_structure_type_t)0x1000f)
#endif

enum { MOST_DEVICES = 64, MOST_GROUPS = 16 };

static struct {
    ze_device_handle_t device;
    ze_command_list_handle_t copies; /* waits for each of its commands */
    ze_command_list_handle_t calls;  /* does not wait */
    ze_event_handle_t done;          /* of the last call */
    ze_kernel_handle_t *kernels;     /* in the order of the module's table */
} drivers[XREDUCE_MOST_RANKS];
static ze_context_handle_t context;

static void must(ze_result_t result, const char *what) {
    if (result != ZE_RESULT_SUCCESS) {
        fprintf(stderr, "%s: 0x%x\n", what, (unsigned)result);
        exit(2);
    }
}
#define MUST(call) must(call, #call)

static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

static void finish(uint32_t r) { MUST(zeEventHostSynchronize(drivers[r].done, UINT64_MAX)); }

static void launch(uint32_t r, const struct xreduce_kernel *kernel, const struct xreduce_call *call) {
    ze_kernel_handle_t function = drivers[r].kernels[kernel - ranks[r].module->kernels];
    const ze_group_count_t groups = {call->blocks, 1, 1};
    for (uint32_t at = 0; at < kernel->argument_count; at++) {
        const struct xreduce_argument *argument = &kernel->arguments[at];
        MUST(zeKernelSetArgumentValue(function, at, argument->bytes, (const char *)call + argument->source));
    }
    MUST(zeKernelSetGroupSize(function, call->threads, 1, 1));
    /* A list orders nothing by itself: the event says when this call has ended, and the next waits for it. */
    finish(r);
    MUST(zeEventHostReset(drivers[r].done));
    MUST(zeCommandListAppendLaunchKernel(drivers[r].calls, function, &groups, drivers[r].done, 0, NULL));
}

static void fill(uint32_t r, uint64_t at, uint8_t byte, size_t bytes) {
    MUST(zeCommandListAppendMemoryFill(drivers[r].copies, pointer(at), &byte, 1, bytes, NULL, 0, NULL));
}

static void put(uint32_t r, uint64_t at, const void *from, size_t bytes) {
    MUST(zeCommandListAppendMemoryCopy(drivers[r].copies, pointer(at), from, bytes, NULL, 0, NULL));
}

static void get(uint32_t r, uint64_t at, void *to, size_t bytes) {
    MUST(zeCommandListAppendMemoryCopy(drivers[r].copies, to, pointer(at), bytes, NULL, 0, NULL));
}

/* The name that Intel's compilers give a GPU, by the first two numbers of its IP version. */
static const char *processor(uint32_t version) {
    static const struct {
        uint32_t major, minor;
        const char *name;
    } names[] = {{12, 55, "acm-g10"}, {12, 56, "acm-g11"}, {12, 57, "acm-g12"}, {12, 60, "pvc"},
                 {20, 1, "bmg-g21"},  {20, 2, "bmg-g31"},  {20, 4, "lnl"}};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        if (version >> 22 == names[at].major && (version >> 14 & 0xFF) == names[at].minor) {
            return names[at].name;
        }
    }
    return "of an unknown IP version";
}

/* Device memory that the driver keeps uncompressed: a peer reads and writes the bytes as they are. */
static uint64_t allocate(ze_device_handle_t device, uint64_t bytes) {
    const ze_memory_compression_hints_ext_desc_t hint = {ZE_STRUCTURE_TYPE_MEMORY_COMPRESSION_HINTS_EXT_DESC, NULL,
                                                         ZE_MEMORY_COMPRESSION_HINTS_EXT_FLAG_UNCOMPRESSED};
    const ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &hint, 0, 0};
    void *memory = NULL;
    MUST(zeMemAllocDevice(context, &desc, (size_t)bytes, 4096, device, &memory));
    return XREDUCE_ADDRESS(memory);
}

/* The list for copies, the list for calls and its event, on the first queue group that computes. */
static void open_lists(uint32_t r) {
    const ze_device_handle_t device = drivers[r].device;
    ze_command_queue_group_properties_t groups[MOST_GROUPS];
    uint32_t count = MOST_GROUPS, ordinal = 0;
    memset(groups, 0, sizeof groups);
    for (uint32_t at = 0; at < count; at++) {
        groups[at].stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    }
    MUST(zeDeviceGetCommandQueueGroupProperties(device, &count, groups));
    while (ordinal < count && !(groups[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE)) {
        ordinal++;
    }
    if (ordinal == count) {
        not_available(r, "its device has no compute queue");
    }
    ze_command_queue_desc_t queue = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, ordinal, 0, 0,
                                     ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_PRIORITY_NORMAL};
    MUST(zeCommandListCreateImmediate(context, device, &queue, &drivers[r].copies));
    queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    MUST(zeCommandListCreateImmediate(context, device, &queue, &drivers[r].calls));
    const ze_event_pool_desc_t pool_desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    const ze_event_desc_t event = {ZE_STRUCTURE_TYPE_EVENT_DESC, NULL, 0, ZE_EVENT_SCOPE_FLAG_HOST, 0};
    ze_event_pool_handle_t pool;
    MUST(zeEventPoolCreate(context, &pool_desc, 1, &drivers[r].device, &pool));
    MUST(zeEventCreate(pool, &event, &drivers[r].done));
    MUST(zeEventHostSignal(drivers[r].done)); /* nothing is under way yet */
}

static void open_rank(uint32_t r, ze_device_handle_t device) {
    ze_device_ip_version_ext_t version = {ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT, NULL, 0};
    ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, .pNext = &version};
    drivers[r].device = device;
    MUST(zeDeviceGetProperties(device, &properties));
    choose_target(r, XREDUCE_SPIRV, processor(version.ipVersion));
    ranks[r].compute_units = properties.numSlices * properties.numSubslicesPerSlice;
    open_lists(r);
    const struct xreduce_module *module = ranks[r].module;
    const ze_module_desc_t desc = {ZE_STRUCTURE_TYPE_MODULE_DESC, NULL, ZE_MODULE_FORMAT_IL_SPIRV, module->bytes,
                                   (const uint8_t *)module->data, NULL, NULL};
    ze_module_handle_t code;
    if (zeModuleCreate(context, device, &desc, &code, NULL) != ZE_RESULT_SUCCESS) {
        not_available(r, "the driver does not take the module");
    }
    drivers[r].kernels = (ze_kernel_handle_t *)calloc(module->kernel_count, sizeof(ze_kernel_handle_t));
    if (!drivers[r].kernels) {
        not_available(r, "no memory");
    }
    for (uint32_t at = 0; at < module->kernel_count; at++) {
        const ze_kernel_desc_t kernel = {ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, module->kernels[at].symbol};
        MUST(zeKernelCreate(code, &kernel, &drivers[r].kernels[at]));
    }
    ranks[r].workspace = allocate(device, xreduce_workspace_bytes(world, INBOX_BYTES));
    ranks[r].in = allocate(device, MOST * sizeof(float));
    ranks[r].out = allocate(device, MOST * sizeof(float));
    warm_up(r);
}

int main(int argc, char **argv) {
    ze_driver_handle_t driver = NULL;
    ze_device_handle_t devices[MOST_DEVICES];
    uint32_t one = 1, count = MOST_DEVICES;
    if (argc < 3 || argc - 1 > XREDUCE_MOST_RANKS) {
        fprintf(stderr, "usage: level_zero DEVICE DEVICE [DEVICE ...]\n");
        return 2;
    }
    world = (uint32_t)(argc - 1);
    if (zeInit(ZE_INIT_FLAG_GPU_ONLY) != ZE_RESULT_SUCCESS || zeDriverGet(&one, &driver) != ZE_RESULT_SUCCESS || !one) {
        not_available(0, "no Level Zero driver with a GPU");
    }
    MUST(zeDeviceGet(driver, &count, devices));
    /* One context: in it every rank's memory has one address for all devices that have peer access. */
    const ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, NULL, 0};
    MUST(zeContextCreate(driver, &desc, &context));
    for (uint32_t r = 0; r < world; r++) {
        const int device = atoi(argv[r + 1]);
        if (device < 0 || (uint32_t)device >= count) {
            not_available(r, "no such device");
        }
        open_rank(r, devices[device]);
    }
    for (uint32_t a = 0; a < world; a++) {
        for (uint32_t b = 0; b < world; b++) {
            ze_bool_t can = 1;
            if (drivers[a].device != drivers[b].device) {
                MUST(zeDeviceCanAccessPeer(drivers[a].device, drivers[b].device, &can));
            }
            if (!can) {
                not_available(a, "its device cannot access a peer's memory");
            }
        }
    }
    return run();
}
