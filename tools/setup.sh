#!/bin/sh
# Makes this machine able to build (`setup.sh build`) or also to test (`setup.sh test`) the project.
# What is there already costs nothing and prints nothing; what is missing is installed on Debian and
# its relatives, and named elsewhere. Package names and versions: Debian 12.
set -eu
cd "$(dirname "$0")/.."

llvm=${LLVM_SYS_221_PREFIX:-/usr/lib/llvm-22}
missing=

# need PACKAGE TEST...: remembers PACKAGE unless the test succeeds.
need() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

# True if the C++ compiler finds this library file on its own path.
has_library() {
    test -e "$(c++ -print-file-name="$1")"
}

has_loader() {
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -q 'libOpenCL\.so\.1 '
}

# True if `$1 --version` says at least the rust-version that Cargo.toml asks for.
is_recent() {
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$("$1" --version | sed 's/^[a-z]* \([0-9.]*\).*/\1/')
    test "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted"
}

need llvm-22-dev test -e "$llvm/lib/libLLVMCore.a"
need llvm-22 test -x "$llvm/bin/llvm-config"
need lld-22 test -x "$llvm/bin/ld.lld"
need liblld-22-dev test -e "$llvm/lib/liblldELF.a"
need libpolly-22-dev test -e "$llvm/lib/libPolly.a"
need g++ c++ --version
need make make --version
need libzstd-dev has_library libzstd.a
need zlib1g-dev has_library libz.a
need libffi-dev has_library libffi.a
need libxml2-dev has_library libxml2.so
need cargo-web is_recent cargo
need rustc-web is_recent rustc
if [ "${1:-build}" = test ]; then
    need rustfmt-web cargo fmt --version
    need rust-web-clippy cargo clippy --version
    need python3 python3 --version
    need python3-venv python3 -c 'import venv, ensurepip'
    need ocl-icd-libopencl1 has_loader
    need clang-22 test -x "$llvm/bin/clang"
    need clang-tools-22 test -x "$llvm/bin/clang-offload-bundler"
    need libamdhip64-dev test -e /usr/include/hip/hip_runtime_api.h
    need libze-dev test -e /usr/include/level_zero/ze_api.h
    need zstd zstd --version
fi
test -n "$missing" || exit 0

missing=${missing# }
if ! command -v apt-get >/dev/null; then
    echo "setup: needed, and not found here (names as in Debian 12): $missing" >&2
    echo "setup: install them, LLVM 22 under $llvm or where LLVM_SYS_221_PREFIX points" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    if ! command -v sudo >/dev/null; then
        echo "setup: run as root: apt-get update && apt-get install $missing" >&2
        exit 1
    fi
fi
echo "setup: installing $missing"
$as_root apt-get update -qq
# No removal: a distribution's older Rust may be wanted by others, its owner decides.
# shellcheck disable=SC2086 # a list of package names
if ! $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends --no-remove $missing; then
    echo "setup: could not install: $missing" >&2
    exit 1
fi
