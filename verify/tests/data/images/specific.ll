; Reads the host-call pointer at implicit argument + 80, as an inlined device printf does, and
; indexes an array that cannot live in registers (scratch).
target triple = "amdgcn-amd-amdhsa"
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
define amdgpu_kernel void @prints(ptr addrspace(1) %out, i32 %at) {
  %array = alloca [64 x i32], align 4, addrspace(5)
  %base = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %place = getelementptr i8, ptr addrspace(4) %base, i64 80
  %buffer = load i64, ptr addrspace(4) %place
  %slot = getelementptr [64 x i32], ptr addrspace(5) %array, i32 0, i32 %at
  store volatile i32 7, ptr addrspace(5) %slot
  store i64 %buffer, ptr addrspace(1) %out
  ret void
}
