#!/bin/sh
# Puts the tools of tools/python-tools.txt into .tools/, which Git ignores: an environment of its own in
# .tools/python, the commands that tests call in .tools/bin, and .tools/opencl with the files that name
# the CPU OpenCL runtime to a loader. Does nothing while .tools/ was made from the same list.
set -eu
cd "$(dirname "$0")/.."

list=tools/python-tools.txt
stamp=.tools/python/made-from.txt
if cmp -s "$list" "$stamp"; then
    exit 0
fi

echo "tools: installing what tests need into .tools/"
# Only what this script made: cargo's own tools may lie beside it.
rm -rf .tools/python .tools/opencl
python3 -m venv .tools/python
.tools/python/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$list"

root=$(pwd)/.tools
site=$(echo "$root"/python/lib/python3*/site-packages)
mkdir -p .tools/bin .tools/opencl
for tool in ptxas cuobjdump nvdisasm; do
    ln -sf "$site/nvidia/cu13/bin/$tool" ".tools/bin/$tool"
done
for tool in spirv-val spirv-dis; do
    ln -sf "$site/cmeel.prefix/bin/$tool" ".tools/bin/$tool"
done
echo "$root/python/lib/libintelocl.so" >.tools/opencl/cpu.icd
# Last: an interrupted run starts over.
cp "$list" "$stamp"
