//! What LLVM 22's SPIR-V back end does not do itself, done on the optimised module before it is emitted.
//!
//! Harmless for the other families: they have no cache controls, and take a select either way.
#![allow(
    unsafe_code,
    reason = "inkwell cannot see the callee of an intrinsic with metadata or set an operand of a vector select"
)]

use inkwell::module::Module;
use inkwell::values::{AsValueRef, InstructionOpcode, InstructionValue};
use llvm_sys::LLVMTypeKind::LLVMVectorTypeKind;
use llvm_sys::core::{
    LLVMBuildInsertElement, LLVMConstInt, LLVMCreateBuilderInContext, LLVMDisposeBuilder, LLVMGetCalledValue,
    LLVMGetOperand, LLVMGetPoison, LLVMGetTypeContext, LLVMGetTypeKind, LLVMGetValueName2, LLVMGetVectorSize,
    LLVMInt1TypeInContext, LLVMInt32TypeInContext, LLVMPositionBuilderBefore, LLVMSetOperand, LLVMTypeOf,
    LLVMVectorType,
};
use llvm_sys::prelude::LLVMValueRef;

/// Mends every function of the module.
pub(crate) fn mend(module: &Module<'_>) {
    for function in module.get_functions() {
        let mut seen = Vec::new();
        for block in function.get_basic_blocks() {
            for instruction in block.get_instructions().collect::<Vec<_>>() {
                match instruction.get_opcode() {
                    InstructionOpcode::Call => drop_if_repeated(instruction, &mut seen),
                    InstructionOpcode::Select => select_by_lanes(instruction.as_value_ref()),
                    _ => {}
                }
            }
        }
    }
}

/// Two equal cache controls on one address make a module invalid; the optimiser makes equal addresses one.
fn drop_if_repeated(call: InstructionValue<'_>, seen: &mut Vec<(LLVMValueRef, LLVMValueRef)>) {
    let Some(decoration) = decoration(call.as_value_ref()) else { return };
    if seen.contains(&decoration) {
        call.erase_from_basic_block();
    } else {
        seen.push(decoration);
    }
}

/// Address and control of a call that decorates an address.
fn decoration(call: LLVMValueRef) -> Option<(LLVMValueRef, LLVMValueRef)> {
    let mut length = 0;
    // SAFETY: `call` is a live call instruction; the name belongs to the callee and has `length` bytes.
    let name = unsafe {
        let callee = LLVMGetCalledValue(call);
        std::slice::from_raw_parts(LLVMGetValueName2(callee, &raw mut length).cast::<u8>(), length)
    };
    if name != b"llvm.spv.assign.decoration.p1" {
        return None;
    }
    // SAFETY: this intrinsic has two operands.
    Some(unsafe { (LLVMGetOperand(call, 0), LLVMGetOperand(call, 1)) })
}

/// Before SPIR-V 1.4 a select of vectors takes a condition per lane; the optimiser makes one condition of equal ones.
fn select_by_lanes(select: LLVMValueRef) {
    // SAFETY: `select` is a live select instruction, so it has a condition and its type is first class; everything built is
    // of that module's context, and the builder is disposed of before it ends.
    unsafe {
        let (kind, condition) = (LLVMTypeOf(select), LLVMGetOperand(select, 0));
        if LLVMGetTypeKind(kind) != LLVMVectorTypeKind || LLVMGetTypeKind(LLVMTypeOf(condition)) == LLVMVectorTypeKind {
            return;
        }
        let context = LLVMGetTypeContext(kind);
        let lanes = LLVMGetVectorSize(kind);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, select);
        let mut splat = LLVMGetPoison(LLVMVectorType(LLVMInt1TypeInContext(context), lanes));
        for lane in 0..lanes {
            let index = LLVMConstInt(LLVMInt32TypeInContext(context), u64::from(lane), 0);
            splat = LLVMBuildInsertElement(builder, splat, condition, index, c"".as_ptr());
        }
        LLVMSetOperand(select, 0, splat);
        LLVMDisposeBuilder(builder);
    }
}
