//! The embedded templates and targets are inputs of this crate: a changed, added or removed file rebuilds it.

fn main() {
    println!("cargo::rerun-if-changed=../templates");
    println!("cargo::rerun-if-changed=../targets");
}
