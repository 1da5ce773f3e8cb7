"""Times other libraries' allreduce kernels: microseconds per call, as one JSON object on standard output.

Run by `xreduce bench --rivals PYTHON`, or by hand with an interpreter that has the packages. What is not installed, or
needs more GPUs than there are, is named under "skipped" with the reason. The method is that of `xreduce bench`: a graph of
many calls per rank, the median of several replays, results checked.

- NCCL and PyTorch's symmetric memory: one process per GPU (PyTorch, "torch.distributed", "symmetric memory").
- --prototype FILE.ptx: the kernels that this project began with (no bounds, no call epochs, sizes a multiple of a packet),
  launched by CuPy as two ranks on one GPU, as `xreduce bench` launches its own there.
"""

import argparse
import json
import os
import queue
import statistics
import sys

ELEMENTS = ["f32", "bf16"]


def skipped(name, reason):
    return {"name": name, "reason": reason}


# One process per GPU: NCCL, symmetric memory.


def torch_rank(rank, world, port, options, answers):
    """One rank of the rivals that PyTorch has; rank 0 answers."""
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symmetric

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    group = dist.group.WORLD.group_name

    def one_shot(buffer):
        return torch.ops.symm_mem.one_shot_all_reduce(buffer, "sum", group)

    def two_shot(buffer):
        return torch.ops.symm_mem.two_shot_all_reduce_(buffer, "sum", group)

    def nccl(buffer):
        dist.all_reduce(buffer)
        return buffer

    series = []
    for element, kind in zip(ELEMENTS, [torch.float32, torch.bfloat16]):
        for name, function in [("NCCL", nccl), ("torch one_shot", one_shot), ("torch two_shot", two_shot)]:
            points = []
            for size in options.bytes:
                buffer = symmetric.empty(size // kind.itemsize, dtype=kind, device=f"cuda:{rank}")
                symmetric.rendezvous(buffer, group)
                # In place, values grow with every call: zeros are checked there by a call of its own.
                buffer.fill_(rank + 1)
                dist.barrier()
                torch.cuda.synchronize()
                result = function(buffer)
                torch.cuda.synchronize()
                wanted = world * (world + 1) / 2
                if not bool((result == wanted).all()):
                    raise RuntimeError(f"{name}, {element}, {size} bytes: wrong result")
                buffer.zero_()
                stream = torch.cuda.Stream()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.stream(stream):
                    function(buffer)
                    stream.synchronize()
                    with torch.cuda.graph(graph, stream=stream):
                        for _ in range(options.calls):
                            function(buffer)
                times = []
                for _ in range(options.replays + 1):
                    dist.barrier()
                    torch.cuda.synchronize()
                    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    with torch.cuda.stream(stream):
                        begin.record()
                        graph.replay()
                        end.record()
                    stream.synchronize()
                    times.append(begin.elapsed_time(end) * 1000 / options.calls)
                points.append({"bytes": size, "microseconds": statistics.median(times[1:])})
            series.append({"name": name, "element": element, "points": points})
    if rank == 0:
        answers.put(series)
    dist.destroy_process_group()


def torch_rivals(options):
    """NCCL and symmetric memory, if PyTorch and two GPUs are there."""
    names = ["NCCL", "torch one_shot", "torch two_shot"]
    try:
        import torch
        import torch.multiprocessing as processes
    except ImportError:
        return [], [skipped(name, "PyTorch is not installed") for name in names]
    # Asked without a CUDA context: the ranks are forked.
    if torch.cuda.device_count() < 2:
        return [], [skipped(name, "needs two GPUs") for name in names]
    # A program that dies while it uses multicast can leave the GPUs' switch in a bad state.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    context = processes.get_context("fork")
    answers = context.Queue()
    ranks = [context.Process(target=torch_rank, args=(rank, 2, 29531, options, answers)) for rank in range(2)]
    for process in ranks:
        process.start()
    series = None
    while series is None and any(process.is_alive() for process in ranks):
        try:
            series = answers.get(timeout=1)
        except queue.Empty:
            if any(process.exitcode for process in ranks):
                break
    for process in ranks:
        if series is None:
            process.terminate()
        process.join()
    if series is None:
        return [], [skipped(name, "its processes failed: see standard error") for name in names]
    return series, []


# Two ranks on one GPU: the prototypes.


def prototypes(options):
    """The project's first kernels, if they are given: f32, two ranks on one GPU."""
    names = {"prototype ll": "ll_push_f32_w2", "prototype sentinel": "lamport_f32_w2"}
    if options.prototype is None:
        return [], []
    try:
        import cupy
        import numpy
    except ImportError:
        return [], [skipped(name, "CuPy is not installed") for name in names]

    module = cupy.RawModule(path=options.prototype)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    device = cupy.cuda.Device()
    largest = max(options.bytes)
    series = []
    for name, symbol in names.items():
        kernel = module.get_function(symbol)
        kernel.num_regs  # loads it: a first launch might wait for a kernel that waits for it
        data = 8 if "ll" in name else 16
        banks = 2 if "ll" in name else 3
        slot = largest * 16 // data
        workspaces = []
        for _ in range(2):
            workspace = cupy.zeros((4096 + banks * slot) // 4, dtype=numpy.uint32)
            if banks == 3:
                workspace[1024:] = 0x80000000  # negative zero: not arrived
            workspaces.append(workspace)
        points = []
        for size in options.bytes:
            packets = size // data
            values = numpy.arange(size // 4)
            inputs = [cupy.asarray(values % 13 + rank, dtype=numpy.float32) for rank in range(2)]
            outputs = [cupy.full(size // 4, -1, dtype=numpy.float32) for _ in range(2)]
            grids = set()
            for threads in (128, 256, 512):
                for most in (8, 16, 32, 64):  # its workspace has room for the epochs of 64 blocks
                    grids.add((min(most, -(-packets // threads)), threads))

            def median(grid, replays):
                # Each block counts its own calls: another grid needs them equal again.
                for workspace in workspaces:
                    workspace[:1024] = 0
                    if banks == 3:
                        workspace[1024:] = 0x80000000
                    else:
                        workspace[1024:] = 0
                device.synchronize()
                graphs = []
                for rank, stream in enumerate(streams):
                    arguments = (
                        *(numpy.uint64(array.data.ptr) for array in (inputs[rank], outputs[rank])),
                        *(numpy.uint64(workspaces[which].data.ptr) for which in (rank, 1 - rank)),
                        *(numpy.int32(number) for number in (rank, packets, slot)),
                    )
                    with stream:
                        stream.begin_capture()
                        for _ in range(options.calls):
                            kernel((grid[0],), (grid[1],), arguments)
                        graphs.append(stream.end_capture())
                times = []
                for _ in range(replays + 1):
                    events = [[cupy.cuda.Event() for _ in range(2)] for _ in streams]
                    for stream, graph, (begin, end) in zip(streams, graphs, events):
                        begin.record(stream)
                        graph.launch(stream)
                        end.record(stream)
                    for stream in streams:
                        stream.synchronize()
                    spans = [cupy.cuda.get_elapsed_time(begin, end) for begin, end in events]
                    times.append(min(spans) * 1000 / options.calls)
                wanted = (values % 13) * 2 + 1
                for output in outputs:
                    if not bool((cupy.asnumpy(output) == wanted).all()):
                        raise RuntimeError(f"{name}, {size} bytes, grid {grid}: wrong result")
                return statistics.median(times[1:])

            best = min(sorted(grids), key=lambda grid: median(grid, 3))
            time = median(best, options.replays)
            points.append({"bytes": size, "microseconds": time, "blocks": best[0], "threads": best[1]})
        series.append({"name": name, "element": "f32", "points": points})
    return series, []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=int, nargs="+", default=[1 << power for power in range(10, 23)])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--replays", type=int, default=11)
    parser.add_argument("--prototype", metavar="FILE.ptx")
    options = parser.parse_args()
    all_series, all_skipped = [], []
    for rival in (torch_rivals, prototypes):
        series, left_out = rival(options)
        all_series += series
        all_skipped += left_out
    json.dump({"series": all_series, "skipped": all_skipped}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
