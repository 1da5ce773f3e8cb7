/* A stand-in for the CUDA driver, for tests on machines without a GPU. Memory is the host's, streams are queues that run
 * when they are waited for, and a kernel of the contract, once every rank has queued its own, is done here in C: sums
 * of f32 in rank order, epochs, status. It shows that the host side is right; it shows nothing about a GPU or a kernel.
 * FAULT 1: every seventh sum is wrong. FAULT 2: kernels end the context. FAULT 3: a kernel writes beside `out`. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef CUDA_HEADER /* the real prototypes, where there are some: they must agree */
#include CUDA_HEADER
#else
typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUmodule, *CUfunction, *CUstream, *CUgraph, *CUgraphExec, *CUevent;
typedef int CUjit_option, CUfunction_attribute, CUdevice_attribute, CUstreamCaptureMode;
typedef struct { unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
                 CUstream hStream; void *attrs; unsigned numAttrs; } CUlaunchConfig;
typedef struct { char reserved[64]; } CUipcMemHandle;
#define CUDAAPI
#endif

enum { RANKS = 8, OPERATIONS = 1 << 16 };
typedef enum { FILL, COPY, COMPARE, NOTHING, CALL } Kind;
typedef struct { Kind kind; uint64_t to, from, size; int value, ll; unsigned char buffer[128]; uint64_t bytes; } Operation;
typedef struct { Operation *list; long count; } Queue;
static Queue *streams[64];
static int stream_count, capturing[64], dead;
static long sums;

static int slot(CUstream stream) { for (int i = 0; i < stream_count; i++) if (streams[i] == (Queue *)stream) return i; return -1; }
static Queue *new_queue(void) { Queue *q = calloc(1, sizeof *q); q->list = malloc(OPERATIONS * sizeof(Operation)); return q; }
static void push(CUstream stream, Operation operation) { Queue *q = (Queue *)stream; q->list[q->count++] = operation; }
static uint64_t u64(const Operation *o, int at) { uint64_t v; memcpy(&v, o->buffer + at, 8); return v; }
static uint32_t u32(const Operation *o, int at) { uint32_t v; memcpy(&v, o->buffer + at, 4); return v; }

static void compare(const Operation *o) {
  unsigned char *seen = (void *)u64(o, 0), *wanted = (void *)u64(o, 8);
  uint64_t *result = (void *)u64(o, 16);
  for (uint64_t i = 0; i < u32(o, 24); i++) {
    uint32_t at = (uint32_t)i - u32(o, 28);
    uint64_t want = at < u32(o, 32) ? wanted[at] : u32(o, 36);
    uint64_t key = (uint64_t)u32(o, 40) << 48 | i << 16 | (uint64_t)seen[i] << 8 | want;
    if (seen[i] != want && key < *result) *result = key;
  }
}

static void call(Operation *o[], int world) {
  uint32_t count = u32(o[0], 16), inbox = u32(o[0], 32), per_packet = o[0]->ll ? 2 : 4;
  if (!count) return;
  for (int r = 0; r < world; r++) {
    uint32_t *header = (void *)u64(o[0], 40 + 8 * r);
    if ((count + per_packet - 1) / per_packet > inbox / 16) { if (!header[1]) header[1] = 3u << 28; continue; }
    header[0] = header[0] == 0xFFFFFFFE ? 1 : header[0] + 1;
    if (header[0] == 0xFFFFFFFE || header[0] == 0x80000000)
      for (int p = 0; p < world; p++) if (p != r) header[(384 + 128 * p) / 4] = header[0];
  }
  if ((count + per_packet - 1) / per_packet > inbox / 16) return;
  float *all = malloc(count * sizeof(float));
  for (uint32_t i = 0; i < count; i++) {
    volatile float sum = 0; /* read element by element: only aligned to their size */
    for (int r = 0; r < world; r++) { float *in = (void *)u64(o[r], 0); sum = r ? sum + in[i] : in[i]; }
    all[i] = sum;
    if (FAULT == 1 && ++sums % 7 == 0) all[i] = 1e30f;
  }
  for (int r = 0; r < world; r++) memcpy((void *)u64(o[r], 8), all, count * sizeof(float));
  if (FAULT == 3) ((unsigned char *)u64(o[world - 1], 8))[count * sizeof(float)] ^= 1;
  free(all);
}

/* Runs what can run; calls run when the ranks of a world have all come to theirs. */
static int drain(void) {
  long next[64] = {0};
  for (int moved = 1; moved;) {
    moved = 0;
    Operation *waiting[RANKS] = {0};
    int at[RANKS] = {0};
    for (int s = 0; s < stream_count; s++)
      for (; next[s] < streams[s]->count; next[s]++) {
        Operation *o = &streams[s]->list[next[s]];
        if (o->kind == CALL) { if (FAULT == 2) dead = 1; waiting[u32(o, 20)] = o; at[u32(o, 20)] = s; break; }
        if (o->kind == FILL) memset((void *)o->to, o->value, o->size);
        if (o->kind == COPY) memmove((void *)o->to, (void *)o->from, o->size);
        if (o->kind == COMPARE) compare(o);
        moved = 1;
      }
    int world = waiting[0] ? (int)(waiting[0]->bytes - 40) / 8 : 0, come = 0;
    for (int r = 0; r < world; r++) come += waiting[r] != 0;
    if (world && come == world) {
      call(waiting, world);
      for (int r = 0; r < world; r++) next[at[r]]++;
      moved = 1;
    }
  }
  for (int s = 0; s < stream_count; s++) streams[s]->count = 0;
  return dead ? 700 : 0;
}

CUresult CUDAAPI cuInit(unsigned flags) { return flags; }
CUresult CUDAAPI cuGetErrorName(CUresult code, const char **text) { *text = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR"; return 0; }
CUresult CUDAAPI cuGetErrorString(CUresult code, const char **text) { (void)code; *text = "as the stand-in was told to"; return 0; }
CUresult CUDAAPI cuDriverGetVersion(int *version) { *version = 13000; return 0; }
CUresult CUDAAPI cuDeviceGetCount(int *count) { *count = 1; return 0; }
CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) { *device = ordinal; return 0; }
CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice d) { (void)d; strncpy(name, "stand-in", size); return 0; }
CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice d) { (void)d; *value = a == 16 ? 8 : a == 75 ? 9 : 0; return 0; }
CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) { *can = a != b; return 0; }
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice d) { (void)d; *context = (CUcontext)8; return 0; }
CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice d) { (void)d; return 0; }
CUresult CUDAAPI cuCtxSetCurrent(CUcontext c) { return c == (CUcontext)8 ? 0 : 201; }
CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext c, unsigned flags) { (void)c; (void)flags; return 704; }
CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *options, void **values) {
  if (strstr(image, ".version")) { *module = (CUmodule)strdup(image); return 0; }
  for (unsigned i = 0; i < n; i++) if (options[i] == 5) strcpy(values[i], "line 1: no .version");
  return 218;
}
CUresult CUDAAPI cuModuleUnload(CUmodule m) { free(m); return 0; }
CUresult CUDAAPI cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) { *f = (CUfunction)strdup(name); return strstr((char *)m, name) ? 0 : 500; }
CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f) { (void)f; *value = a == 0 ? 512 : 32; return 0; }
CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared) { (void)f; (void)shared; *blocks = 1024 / threads; return 0; }
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **parameters, void **extra) {
  Operation o = {.bytes = *(size_t *)extra[3]};
  if (parameters || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] || o.bytes > sizeof o.buffer) return 1;
  memcpy(o.buffer, extra[1], o.bytes);
  o.kind = !strcmp((char *)f, "compare") ? COMPARE : !strcmp((char *)f, "nothing") ? NOTHING : CALL;
  o.ll = strstr((char *)f, "_ll_") != 0;
  if (o.kind == CALL && (u32(&o, 24) != config->gridDimX || u32(&o, 28) != config->blockDimX || config->gridDimX > 4)) return 1;
  push(config->hStream, o);
  return 0;
}
CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) { *address = (CUdeviceptr)aligned_alloc(256, (bytes + 255) / 256 * 256); return *address ? 0 : 2; }
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address) { free((void *)address); return 0; }
CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream s) { (void)s; int e = drain(); memcpy((void *)to, from, size); return e; }
CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream s) { (void)s; int e = drain(); memcpy(to, (void *)from, size); return e; }
CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream s) { push(s, (Operation){.kind = COPY, .to = to, .from = from, .size = size}); return 0; }
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream s) { push(s, (Operation){.kind = FILL, .to = to, .value = value, .size = size}); return 0; }
CUresult CUDAAPI cuStreamCreate(CUstream *s, unsigned flags) { if (flags != 1 || stream_count == 64) return 1; streams[stream_count] = new_queue(); *s = (CUstream)streams[stream_count++]; return 0; }
CUresult CUDAAPI cuStreamDestroy_v2(CUstream s) { int i = slot(s); streams[i] = streams[--stream_count]; return 0; }
CUresult CUDAAPI cuStreamSynchronize(CUstream s) { return capturing[slot(s)] ? 900 : drain(); }
CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode) { if (mode != 1 || ((Queue *)s)->count) return 1; capturing[slot(s)] = 1; return 0; }
CUresult CUDAAPI cuStreamEndCapture(CUstream s, CUgraph *graph) {
  Queue *copy = new_queue(), *q = (Queue *)s;
  memcpy(copy->list, q->list, q->count * sizeof(Operation));
  copy->count = q->count;
  q->count = 0;
  capturing[slot(s)] = 0;
  *graph = (CUgraph)copy;
  return 0;
}
CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  Queue *copy = new_queue();
  memcpy(copy->list, ((Queue *)graph)->list, ((Queue *)graph)->count * sizeof(Operation));
  copy->count = ((Queue *)graph)->count;
  *exec = (CUgraphExec)copy;
  return (CUresult)flags;
}
CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream s) { Queue *q = (Queue *)exec; for (long i = 0; i < q->count; i++) push(s, q->list[i]); return 0; }
static int free_queue(Queue *q) { free(q->list); free(q); return 0; }
CUresult CUDAAPI cuGraphDestroy(CUgraph graph) { return free_queue((Queue *)graph); }
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) { return free_queue((Queue *)exec); }
CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags) { *event = (CUevent)8; return flags; }
CUresult CUDAAPI cuEventRecord(CUevent event, CUstream s) { (void)event; (void)s; return 0; }
CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) { (void)begin; (void)end; *milliseconds = 1; return 0; }
CUresult CUDAAPI cuEventDestroy_v2(CUevent event) { (void)event; return 0; }
CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) { memcpy(handle, &address, 8); return 0; }
CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags) { memcpy(address, &handle, 8); return flags == 1 ? 0 : 1; }
CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address) { (void)address; return 0; }
