#!/bin/sh
# Makes the images of this folder from the IR beside it. Needs LLVM 22 (opt, llc, ld.lld, llvm-strip)
# and ptxas of CUDA 13.
set -eu
cd "$(dirname "$0")"
L=${LLVM_BIN:-/usr/lib/llvm-22/bin}
amdgpu() { # name source version
    "$L/opt" -O3 -mcpu=gfx1100 "$2.ll" -o "$1.bc"
    "$L/llc" -O3 -mcpu=gfx1100 --amdhsa-code-object-version="$3" -filetype=obj "$1.bc" -o "$1.o"
    rm "$1.bc"
}
for version in 4 5 6; do
    amdgpu "add_v$version" add "$version"
    "$L/ld.lld" -shared "add_v$version.o" -o "add_v$version.hsaco"
    rm "add_v$version.o"
done
amdgpu calls calls 6
amdgpu helper helper 6
"$L/ld.lld" -shared calls.o helper.o -o calls.hsaco
"$L/llvm-strip" calls.hsaco -o calls_stripped.hsaco
"$L/ld.lld" -shared calls.o -o undefined.hsaco
rm helper.o
amdgpu specific specific 6
"$L/ld.lld" -shared specific.o -o specific.hsaco
"$L/llvm-strip" specific.hsaco -o specific_stripped.hsaco
rm specific.o
for name in indirect group; do
    amdgpu "$name" "$name" 6
    "$L/ld.lld" -shared "$name.o" -o "$name.hsaco"
    rm "$name.o"
done
"$L/llc" -O3 -mcpu=sm_90 ptx.ll -o prints.ptx
"${PTXAS:-ptxas}" -arch=sm_90 prints.ptx -o prints.cubin
"$L/llc" -O3 -filetype=obj spirv.ll -o prints.spv
