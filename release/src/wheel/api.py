"""Small-message allreduce kernels for @vendor@ GPUs, as data: no driver is touched here.

    target = find("gfx1100")                       # what a driver calls the device
    launch = plan(target, world=2, element="f32", count=4096, inbox_bytes=65536, compute_units=48)
    code = module(target["name"], world=2)         # bytes for the driver's module loader
    buffer = arguments(launch["kernel"], count=4096, rank=0, ...)

What the arguments mean and what a host must do is the kernel contract, version 1. The manifest is that of `xreduce build`,
schema 1, with this vendor's targets.
"""

import json
import struct
from functools import lru_cache
from importlib.resources import files

__all__ = ["arguments", "find", "manifest", "module", "plan", "targets", "workspace_bytes"]

_BYTES = {"f32": 4, "f16": 2, "bf16": 2}
_PACKET = 16


@lru_cache(maxsize=None)
def _manifest_text():
    return files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")


def manifest():
    """The manifest; a copy of its own for every caller."""
    return json.loads(_manifest_text())


def targets():
    """Names of all targets."""
    return [target["name"] for target in manifest()["targets"]]


def _sm(name):
    number = name[3:]
    return int(number) if name.startswith("sm_") and number.isdecimal() else 0


def find(processor):
    """The target's entry to load on a device that its driver calls `processor`; LookupError says what there is instead.

    Made for this very processor before made for several; PTX of the newest architecture that is not too new.
    """
    name = processor.split(":")[0]
    entries = manifest()["targets"]
    for entry in entries:
        if entry["name"] == name:
            return entry
    for entry in entries:
        if entry["family"] != "nvptx" and name in entry["processors"]:
            return entry
    older = [entry for entry in entries if entry["family"] == "nvptx" and 0 < _sm(entry["name"]) <= _sm(name)]
    if older:
        return max(older, key=lambda entry: _sm(entry["name"]))
    raise LookupError(f"no kernels for {processor!r}; there are some for {', '.join(targets())}")


def _module_entry(target, world):
    for entry in target["modules"]:
        if entry["world"] == world:
            return entry
    worlds = ", ".join(str(entry["world"]) for entry in target["modules"])
    raise LookupError(f"no kernels for {world} ranks on {target['name']}; there are some for {worlds}")


def module(target, world):
    """Bytes of the module for `world` ranks of the target called `target`."""
    for entry in manifest()["targets"]:
        if entry["name"] == target:
            return files(__name__).joinpath(_module_entry(entry, world)["file"]).read_bytes()
    raise LookupError(f"no target {target!r}; there are {', '.join(targets())}")


def plan(target, world, element, count, inbox_bytes, compute_units):
    """Kernel entry, blocks and threads for `count` elements, or None: the message is for another library."""
    kernels = _module_entry(target, world)["kernels"]
    size = count * _BYTES[element]
    for row in target["dispatch"]:
        if size > row["max_bytes"] or world > row["max_world"]:
            continue
        for kernel in kernels:
            if all(kernel[key] == row[key] for key in ("algorithm", "wire")) and kernel["element"] == element:
                break
        else:
            return None
        packets = -(-count // kernel["elements_per_packet"])
        if packets > inbox_bytes // _PACKET:
            return None
        threads = min(row["threads"], kernel["max_threads_per_block"])
        resident = compute_units * target["max_blocks_per_compute_unit"]
        return {"kernel": kernel, "blocks": max(1, min(row["blocks"], -(-packets // threads), resident)), "threads": threads}
    return None


def arguments(kernel, **values):
    """The argument buffer of a kernel's entry; every argument has to be given by its name, and no other."""
    names = {argument["name"] for argument in kernel["arguments"]}
    if names != values.keys():
        raise TypeError(f"missing {sorted(names - values.keys())}, unknown {sorted(values.keys() - names)}")
    buffer = bytearray(max(argument["offset"] + argument["size"] for argument in kernel["arguments"]))
    for argument in kernel["arguments"]:
        form = {8: "<Q", 4: "<I"}[argument["size"]]
        struct.pack_into(form, buffer, argument["offset"], values[argument["name"]])
    return bytes(buffer)


def workspace_bytes(world, inbox_bytes):
    """Size of a workspace, layout version 1: the first 4096 bytes are prepared as 0, the others as 0xFF."""
    return 4096 + (4 * world + 2) * inbox_bytes
