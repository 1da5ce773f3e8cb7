//! One module from IR text to an artifact: parse, verify, `default<O3>` with the target machine, emit, link.
//!
//! The pipeline runs with the target machine because the AMDGPU attributor, which removes hidden arguments, is in it only
//! then.
#![allow(unsafe_code, reason = "inkwell has no SPIR-V initialiser, no command-line options and no diagnostic handler")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};
use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use llvm_sys::prelude::LLVMDiagnosticInfoRef;
use xreduce_codegen::family::Output;
use xreduce_codegen::job::{Answer, Job};

use crate::link::link;
use crate::spirv;

unsafe extern "C" {
    fn LLVMInitializeSPIRVTargetInfo();
    fn LLVMInitializeSPIRVTarget();
    fn LLVMInitializeSPIRVTargetMC();
    fn LLVMInitializeSPIRVAsmPrinter();
}

/// Errors that LLVM reports while it works.
type Reports = Mutex<Vec<String>>;

/// Lowers the module of `job`. May be called once in a process.
pub(crate) fn lower(job: &Job) -> Result<Vec<u8>, Answer> {
    let failed = |message: String| Answer::Failed { message };
    initialise(job.spirv_extensions.as_deref());
    let reports = Reports::default();
    let context = Context::create();
    // SAFETY: `reports` outlives the context, which is dropped first; the handler reads it as what it is.
    unsafe {
        LLVMContextSetDiagnosticHandler(context.raw(), Some(report), (&raw const reports).cast_mut().cast::<c_void>());
    }
    if !job.cpu.is_empty() {
        crate::processor::check(&job.triple, &job.cpu).map_err(failed)?;
    }
    let machine = machine(job).map_err(failed)?;
    let buffer = MemoryBuffer::create_from_memory_range_copy(job.ir.as_bytes(), "module");
    let module = context.create_module_from_ir(buffer).map_err(|cause| faulty(&cause.to_string()))?;
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    module.verify().map_err(|cause| Answer::Faulty { message: cause.to_string().trim().to_owned(), line: None })?;
    module
        .run_passes("default<O3>", &machine, PassBuilderOptions::create())
        .map_err(|cause| failed(cause.to_string()))?;
    spirv::mend(&module);
    let kind = if job.output == Output::Assembly { FileType::Assembly } else { FileType::Object };
    let emitted = machine.write_to_memory_buffer(&module, kind);
    let reported = std::mem::take(&mut *reports.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(first) = reported.first() {
        return Err(faulty(first));
    }
    let bytes = emitted.map_err(|cause| failed(cause.to_string()))?.as_slice().to_vec();
    match job.output {
        Output::LinkedObject => {
            link(&bytes).map_err(|message| Answer::Failed { message: format!("the linker says: {message}") })
        }
        Output::Assembly => Ok(text(bytes)),
        Output::Object => Ok(bytes),
    }
}

fn initialise(spirv_extensions: Option<&str>) {
    Target::initialize_amd_gpu(&InitializationConfig::default());
    Target::initialize_nvptx(&InitializationConfig::default());
    // SAFETY: LLVM's own initialisers, called once, before anything else of LLVM runs in this process.
    unsafe {
        LLVMInitializeSPIRVTargetInfo();
        LLVMInitializeSPIRVTarget();
        LLVMInitializeSPIRVTargetMC();
        LLVMInitializeSPIRVAsmPrinter();
    }
    let Some(option) = spirv_extensions.and_then(|list| CString::new(format!("-spirv-ext={list}")).ok()) else {
        return;
    };
    let arguments: [*const c_char; 2] = [c"xreduce".as_ptr(), option.as_ptr()];
    // SAFETY: both strings live through the call, which copies what it needs.
    unsafe { llvm_sys::support::LLVMParseCommandLineOptions(2 as c_int, arguments.as_ptr(), std::ptr::null()) };
}

fn machine(job: &Job) -> Result<TargetMachine, String> {
    let triple = TargetTriple::create(&job.triple);
    let target = Target::from_triple(&triple).map_err(|cause| cause.to_string())?;
    target
        .create_target_machine(
            &triple,
            &job.cpu,
            &job.features,
            OptimizationLevel::Aggressive,
            RelocMode::Default,
            CodeModel::Default,
        )
        .ok_or_else(|| format!("LLVM has no machine for {} {} {}", job.triple, job.cpu, job.features))
}

/// LLVM's message; `module:LINE:COLUMN: error: ` in front becomes the line.
fn faulty(message: &str) -> Answer {
    let message = message.trim();
    let mut parts = message.splitn(4, ':');
    let line = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("module"), Some(line), Some(_), Some(rest)) => line.parse().ok().map(|line| (line, rest)),
        _ => None,
    };
    match line {
        Some((line, rest)) => Answer::Faulty { message: rest.trim().to_owned(), line: Some(line) },
        None => Answer::Faulty { message: message.to_owned(), line: None },
    }
}

extern "C" fn report(info: LLVMDiagnosticInfoRef, reports: *mut c_void) {
    // SAFETY: LLVM hands over a live diagnostic, and the pointer that `lower` registered, which is to a `Reports`; the
    // description is a NUL-terminated string that the receiver disposes of.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let description = LLVMGetDiagInfoDescription(info);
        let text = CStr::from_ptr(description).to_string_lossy().into_owned();
        LLVMDisposeMessage(description);
        (*reports.cast::<Reports>().cast_const()).lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

/// Text as a file holds it: LLVM ends PTX with a NUL byte in some versions.
fn text(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}
