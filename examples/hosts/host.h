/* What every host of xreduce kernels does, whatever its driver: cuda.c, hip.cpp and level_zero.c include this file and give the
 * five functions that touch a driver. C11 and C++17.
 *
 * In this order: a target for each rank's device; workspaces that every rank maps, prepared; proof by checked data that peer
 * access works, so that an engine learns "not available" before it relies on it; calls by dispatch row; a rank that does not
 * come, and the status that says so; recovery. The kernels' waits are bounded, so nothing here can hang a device.
 * Exit codes: 0 all well, 1 wrong sums or status, 2 an error of the driver, 3 not available here.
 */
#include "xreduce.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    INBOX_BYTES = 1 << 20, /* of every sender, per bank; equal on all ranks */
    MOST = 1 << 18         /* elements of the largest message here */
};

struct rank {
    const struct xreduce_target *target;
    const struct xreduce_module *module;
    uint64_t workspace, in, out; /* as every rank's device sees them: one address space in a process */
    uint32_t compute_units;
};

static struct rank ranks[XREDUCE_MOST_RANKS];
static uint32_t world;

/* The driver's part. A rank has one stream: what is given to it runs in that order. */
static void launch(uint32_t r, const struct xreduce_kernel *kernel, const struct xreduce_call *call); /* does not wait */
static void fill(uint32_t r, uint64_t at, uint8_t byte, size_t bytes);     /* on the stream */
static void put(uint32_t r, uint64_t at, const void *from, size_t bytes);  /* on the stream; `from` may change afterwards */
static void get(uint32_t r, uint64_t at, void *to, size_t bytes);          /* of an idle rank; has happened on return */
static void finish(uint32_t r);                                            /* waits for the stream */

static void not_available(uint32_t r, const char *reason) {
    printf("not available: rank %u: %s\n", (unsigned)r, reason);
    exit(3);
}

/* Chooses what to load on a rank's device, which its driver calls `processor`. */
static void choose_target(uint32_t r, enum xreduce_family family, const char *processor) {
    enum xreduce_match match;
    struct rank *rank = &ranks[r];
    rank->target = xreduce_find_target(family, processor, &match);
    rank->module = rank->target ? xreduce_find_module(rank->target, world) : NULL;
    printf("rank %u: device %s, target %s%s\n", (unsigned)r, processor, rank->target ? rank->target->name : "none",
           match == XREDUCE_GENERIC ? " (generic)" : "");
    if (!rank->module) {
        not_available(r, rank->target ? "no module for so many ranks" : "no target for this device");
    }
}

/* Drivers load a kernel at its first launch and may wait until the device is idle, which it is not while another rank's kernel
 * waits for this very one. Count 0 touches nothing and is no call: launch every kernel so before the first that matters. */
static void warm_up(uint32_t r) {
    for (uint32_t at = 0; at < ranks[r].module->kernel_count; at++) {
        struct xreduce_call nothing;
        memset(&nothing, 0, sizeof nothing);
        nothing.blocks = 1;
        nothing.threads = ranks[r].target->lanes;
        nothing.inbox_bytes = INBOX_BYTES;
        launch(r, &ranks[r].module->kernels[at], &nothing);
        finish(r);
    }
}

/* Before the first call, and after a status. The host barriers: no kernel runs on any rank before the first rank is prepared,
 * and none starts before the last one is. With a process per rank they span the processes. */
static void prepare(void) {
    const uint64_t bytes = xreduce_workspace_bytes(world, INBOX_BYTES);
    for (uint32_t r = 0; r < world; r++) {
        finish(r);
    }
    for (uint32_t r = 0; r < world; r++) {
        fill(r, ranks[r].workspace, 0, XREDUCE_HEADER_PAGE);
        fill(r, ranks[r].workspace + XREDUCE_HEADER_PAGE, 0xFF, (size_t)(bytes - XREDUCE_HEADER_PAGE));
    }
    for (uint32_t r = 0; r < world; r++) {
        finish(r);
    }
}

/* Launches a call on the first `come` ranks. All have to come, or the others give up after `spin_limit`. */
static enum xreduce_plan_result allreduce(uint32_t count, uint32_t spin_limit, uint32_t come) {
    struct xreduce_launch plan; /* one choice for all ranks: rank 0's table, the smallest device */
    uint32_t compute_units = ranks[0].compute_units;
    for (uint32_t r = 1; r < world; r++) {
        compute_units = xreduce_least(compute_units, ranks[r].compute_units);
    }
    const enum xreduce_plan_result result =
        xreduce_plan(ranks[0].target, ranks[0].module, XREDUCE_F32, count, INBOX_BYTES, compute_units, &plan);
    for (uint32_t r = 0; result == XREDUCE_PLANNED && r < come; r++) {
        const struct xreduce_kernel *kernel =
            xreduce_find_kernel(ranks[r].module, plan.kernel->algorithm, plan.kernel->wire, plan.kernel->element);
        struct xreduce_call call;
        if (!kernel) {
            return XREDUCE_NO_KERNEL;
        }
        memset(&call, 0, sizeof call);
        call.in = ranks[r].in;
        call.out = ranks[r].out;
        call.count = count;
        call.rank = r;
        call.blocks = plan.blocks;
        call.threads = plan.threads;
        call.inbox_bytes = INBOX_BYTES;
        call.spin_limit = spin_limit;
        for (uint32_t peer = 0; peer < world; peer++) {
            call.workspaces[peer] = ranks[peer].workspace;
        }
        launch(r, kernel, &call);
    }
    return result;
}

/* The status of a rank once its kernels have ended; one that is not 0 is said. */
static uint32_t complain(uint32_t r) {
    uint32_t word = 0;
    finish(r);
    get(r, ranks[r].workspace + XREDUCE_STATUS, &word, sizeof word);
    if (word) {
        printf("rank %u: %s: rank %u\n", (unsigned)r, xreduce_status_text(word), (unsigned)xreduce_status_rank(word));
    }
    return word;
}

static float input(uint32_t r, uint32_t i, uint32_t salt) { return (float)((i * 7 + r * 13 + salt) % 1024); }

/* One call with checked sums, exact in f32. 1: right; 0: wrong or given up, and it has said why. */
static int right(uint32_t count, uint32_t salt, uint32_t spin_limit) {
    static float host[MOST];
    int fine = 1;
    for (uint32_t r = 0; r < world; r++) {
        for (uint32_t i = 0; i < count; i++) {
            host[i] = input(r, i, salt);
        }
        put(r, ranks[r].in, host, count * sizeof *host);
        fill(r, ranks[r].out, 0xAA, count * sizeof *host);
    }
    const enum xreduce_plan_result result = allreduce(count, spin_limit, world);
    if (result != XREDUCE_PLANNED) {
        printf("%u elements: %s\n", (unsigned)count, result == XREDUCE_TOO_LARGE ? "too large" : "no kernel");
        return result == XREDUCE_TOO_LARGE; /* another library's message */
    }
    for (uint32_t r = 0; r < world; r++) { /* all of them: nothing may run on when this returns */
        if (complain(r)) {
            fine = 0;
            continue;
        }
        get(r, ranks[r].out, host, count * sizeof *host);
        for (uint32_t i = 0; fine && i < count; i++) {
            float sum = 0;
            for (uint32_t peer = 0; peer < world; peer++) {
                sum += input(peer, i, salt);
            }
            fine = host[i] == sum;
            if (!fine) {
                printf("rank %u: element %u is %g, not %g\n", (unsigned)r, (unsigned)i, (double)host[i], (double)sum);
            }
        }
    }
    return fine;
}

/* "Can access" is a claim, and a copy may take another way than a kernel's store: the kernels themselves prove it. Each row of
 * the table, four sizes, each bank used again and again, waiting a tenth of the usual time. */
static void prove(void) {
    const uint32_t patience = ranks[0].target->spin_limit_default / 10;
    for (uint32_t row = 0; row < ranks[0].target->dispatch_count; row++) {
        const uint32_t most = xreduce_least(ranks[0].target->dispatch[row].max_bytes / sizeof(float), MOST);
        const uint32_t counts[] = {1, most / 3 + 1, most - 1, most};
        for (uint32_t at = 0; at < 16; at++) {
            if (!right(counts[at % 4], at, patience)) {
                not_available(0, "peer access is claimed, but data does not arrive as sent");
            }
        }
    }
    printf("peer access proved\n");
}

/* What an engine does from then on, and when a rank fails. */
static int run(void) {
    const uint32_t patience = ranks[0].target->spin_limit_default / 10;
    prepare();
    prove();
    for (uint32_t at = 0; at < 1000; at++) {
        if (!right(1 + at * 97 % 16384, at, 0)) {
            return 1;
        }
    }
    printf("1000 calls right\n");
    /* The last rank does not come: the others give up, and say for whom they waited. Then all begin anew. */
    allreduce(4096, patience, world - 1);
    for (uint32_t r = 0; r + 1 < world; r++) {
        if (xreduce_status_rank(complain(r)) != world - 1) {
            return 1;
        }
    }
    prepare();
    if (!right(4096, 5, 0)) {
        return 1;
    }
    printf("recovered\n");
    return 0;
}
