//! What is said without a driver, with one that is too old, and without a device. The stand-in for a driver is a library
//! whose functions all return one code; it shows nothing about a GPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::driver::SYMBOLS;
use super::{Driver, Error};

/// Builds a library with these functions, which return `code`.
fn library(folder: &Path, symbols: &[&str], code: i32) -> PathBuf {
    let (source, library) = (folder.join("stand_in.c"), folder.join("libstand_in.so"));
    let text = symbols.iter().fold(String::new(), |mut text, symbol| {
        writeln!(text, "int {symbol}() {{ return {code}; }}").unwrap();
        text
    });
    std::fs::write(&source, text).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

#[test]
fn a_driver_that_is_not_there_is_named() {
    let error = Driver::open_at(Path::new("/nowhere/libcuda.so.1")).unwrap_err();
    assert!(matches!(&error, Error::Library { .. }));
    let message = error.to_string();
    assert!(message.starts_with("no CUDA driver: cannot open /nowhere/libcuda.so.1: "), "{message}");
    assert!(message.contains("No such file"), "{message}");
}

#[test]
fn a_driver_that_is_too_old_says_which_function_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let symbols: Vec<&str> = SYMBOLS.iter().copied().filter(|symbol| *symbol != "cuLaunchKernelEx").collect();
    let error = Driver::open_at(&library(folder.path(), &symbols, 0)).unwrap_err();
    let Error::Symbol { symbol, .. } = &error else { panic!("{error}") };
    assert_eq!(*symbol, "cuLaunchKernelEx");
    assert!(error.to_string().contains("CUDA 11.8"), "{error}");
}

#[test]
fn a_driver_without_a_device_is_no_failed_call() {
    let folder = tempfile::tempdir().unwrap();
    let error = Driver::open_at(&library(folder.path(), SYMBOLS, 100)).unwrap_err();
    assert_eq!(error.to_string(), "no CUDA device: the driver finds none");
}

#[test]
fn a_failed_call_is_told_with_its_code_also_where_the_driver_has_no_name_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let error = Driver::open_at(&library(folder.path(), SYMBOLS, 3)).unwrap_err();
    assert_eq!(error.to_string(), "cuInit: unknown to this driver (3), unknown to this driver");
    assert!(!error.is_sticky());
}

#[test]
fn a_dead_context_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = Driver::open_at(&library(folder.path(), SYMBOLS, 700)).unwrap_err();
    assert!(error.is_sticky());
    assert!(error.to_string().ends_with("; the context is dead, and with it all work of this process on the GPU"));
}
