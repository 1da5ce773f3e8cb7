; Two kernels for `xreduce probe`: one needs nothing, one declares a hostcall buffer and calls nobody.
; Reading the buffer's address is what makes LLVM declare it (AMDGPUAttributor).

define amdgpu_kernel void @xreduce_probe_plain(ptr addrspace(1) %out) {
  store i32 7346711, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @xreduce_probe_hostcall(ptr addrspace(1) %out) {
  %implicit = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %place = getelementptr i8, ptr addrspace(4) %implicit, i64 80
  %buffer = load i64, ptr addrspace(4) %place
  %none = icmp eq i64 %buffer, 0
  %word = select i1 %none, i32 0, i32 185597458
  store i32 %word, ptr addrspace(1) %out
  ret void
}

declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()

!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
