"""The same questions to a wheel as host.c asks the header: python host.py PACKAGE FOLDER."""

import importlib
import pathlib
import sys

kernels = importlib.import_module(sys.argv[1])
folder = pathlib.Path(sys.argv[2])
plain = {
    "in": 0x1122334455667788,
    "out": 0x99AABBCCDDEEFF00,
    "count": 0xC0C0C0C0,
    "rank": 3,
    "blocks": 17,
    "threads": 255,
    "inbox_bytes": 65536,
    "spin_limit": 77,
    "root": 5,
}
for rank in range(8):
    plain[f"workspace_{rank}"] = 0xA0000000000 + rank
    plain[f"in_{rank}"] = 0xB0000000000 + rank
    plain[f"out_{rank}"] = 0xC0000000000 + rank

for name in kernels.targets():
    target = kernels.find(name)
    assert target["name"] == name
    for module in target["modules"]:
        world = module["world"]
        (folder / f"{name}-w{world}").write_bytes(kernels.module(name, world))
        for kernel in module["kernels"]:
            values = {argument["name"]: plain[argument["name"]] for argument in kernel["arguments"]}
            print("kernel", name, kernel["symbol"], kernels.arguments(kernel, **values).hex())
            try:
                kernels.arguments(kernel, **dict(values, nonsense=1))
                raise SystemExit("an unknown argument was taken")
            except TypeError:
                pass
        count = 0
        while count < 3000000:
            plan = kernels.plan(target, world, "f32", count, 1 << 20, 4)
            if plan:
                print("plan", name, world, count, 0, plan["kernel"]["symbol"], plan["blocks"], plan["threads"])
            else:
                print("plan", name, world, count, 1, "-", 0, 0)
            count = count * 3 + 1
for failing in (lambda: kernels.find("gfx906"), lambda: kernels.module("nowhere", 2), lambda: kernels.module(name, 9)):
    try:
        failing()
        raise SystemExit("something was found that is not there")
    except LookupError as error:
        assert name in str(error), error
