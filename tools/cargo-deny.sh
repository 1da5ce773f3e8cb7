#!/bin/sh
# Builds cargo-deny into .tools/ once: three minutes on two cores, without optimisation, which its one
# short run does not need.
set -eu
cd "$(dirname "$0")/.."
version=0.20.2
if [ "$(.tools/bin/cargo-deny --version 2>/dev/null)" != "cargo-deny $version" ]; then
    echo "tools: building cargo-deny into .tools/"
    # Its own target folder: the caller's may be a folder that Git does not ignore.
    CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR=.tools/build cargo install --locked --quiet --debug \
        --root .tools --version "$version" cargo-deny
    rm -rf .tools/build
fi
