//! Links the command, and the tests of this package, with LLVM's own linker where it is installed.
//!
//! GNU ld, which a distribution's Rust uses, reads archives once and in order. LLVM's archives stand before the crate that calls
//! them, since a crate's archives follow it at once. rustup's compilers bring an LLD along and need nothing here.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix = env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let folder = Path::new(&prefix).join("bin");
    if folder.join("ld.lld").exists() {
        println!("cargo::rustc-link-arg=-B{}", folder.display());
        println!("cargo::rustc-link-arg=-fuse-ld=lld");
    }
}
