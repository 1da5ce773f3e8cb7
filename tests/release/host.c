/* A host without a vendor's SDK: writes every module of the header to the folder argv[1], and prints what a launch of each
 * kernel would pass, so that the test can compare both with the manifest. */
#define XREDUCE_IMPLEMENTATION
#include "xreduce.h"

#include <stdio.h>

static void print_target(const struct xreduce_target *target, const char *folder) {
    for (uint32_t m = 0; m < target->module_count; m++) {
        const struct xreduce_module *module = &target->modules[m];
        char path[4096];
        snprintf(path, sizeof path, "%s/%s-w%u", folder, target->name, (unsigned)module->world);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(module->data, 1, module->bytes, file) != module->bytes || fclose(file) != 0) {
            perror(path);
        }
        for (uint32_t k = 0; k < module->kernel_count; k++) {
            const struct xreduce_kernel *kernel = &module->kernels[k];
            struct xreduce_call call;
            unsigned char buffer[XREDUCE_MOST_ARGUMENT_BYTES];
            memset(&call, 0, sizeof call);
            call.in = 0x1122334455667788;
            call.out = 0x99aabbccddeeff00;
            call.count = 0xc0c0c0c0;
            call.rank = 3;
            call.blocks = 17;
            call.threads = 255;
            call.inbox_bytes = 65536;
            call.spin_limit = 77;
            call.root = 5;
            for (uint32_t rank = 0; rank < XREDUCE_MOST_RANKS; rank++) {
                call.workspaces[rank] = 0xa0000000000 + rank;
                call.ins[rank] = 0xb0000000000 + rank;
                call.outs[rank] = 0xc0000000000 + rank;
            }
            size_t bytes = xreduce_pack(kernel, &call, buffer);
            printf("kernel %s %s ", target->name, kernel->symbol);
            for (size_t at = 0; at < bytes; at++) {
                printf("%02x", buffer[at]);
            }
            printf("\n");
        }
        for (uint32_t count = 0; count < 3000000; count = count * 3 + 1) {
            struct xreduce_launch launch;
            memset(&launch, 0, sizeof launch);
            enum xreduce_plan_result result =
                xreduce_plan(target, module, XREDUCE_F32, count, 1u << 20, 4, &launch);
            printf("plan %s %u %u %d %s %u %u\n", target->name, (unsigned)module->world, (unsigned)count, (int)result,
                   launch.kernel ? launch.kernel->symbol : "-", (unsigned)launch.blocks, (unsigned)launch.threads);
        }
    }
}

static void print_match(enum xreduce_family family, const char *processor) {
    enum xreduce_match match;
    const struct xreduce_target *target = xreduce_find_target(family, processor, &match);
    printf("match %s %s\nfound %s %d\n", processor, target ? target->name : "-", processor, (int)match);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        return 2;
    }
    for (const struct xreduce_target *const *at = xreduce_targets; *at; at++) {
        print_target(*at, argv[1]);
    }
    print_match(XREDUCE_AMDGPU, "gfx1100");
    print_match(XREDUCE_AMDGPU, "gfx1100:sramecc+:xnack-");
    print_match(XREDUCE_AMDGPU, "gfx906");
    print_match(XREDUCE_NVPTX, "gfx1100");
    print_match(XREDUCE_NVPTX, "sm_90");
    print_match(XREDUCE_NVPTX, "sm_120");
    print_match(XREDUCE_NVPTX, "sm_50");
    print_match(XREDUCE_SPIRV, "bmg-g31");
    for (uint32_t world = 2; world <= 8; world++) {
        printf("workspace %u %llu\n", (unsigned)world, (unsigned long long)xreduce_workspace_bytes(world, 65536));
    }
    const uint32_t words[] = {0, 0x13000007, 0x21000001, 0x30000000, 7};
    for (size_t at = 0; at < sizeof words / sizeof *words; at++) {
        printf("status %u %u %s\n", (unsigned)xreduce_status_code(words[at]), (unsigned)xreduce_status_rank(words[at]),
               xreduce_status_text(words[at]));
    }
    return 0;
}
