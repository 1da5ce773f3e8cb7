; Calls a harmless function of the ROCm device library, which keeps its name in the symbol table.
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workgroup.id.x()
define i32 @__ockl_get_group_id() noinline {
  %id = call i32 @llvm.amdgcn.workgroup.id.x()
  ret i32 %id
}
define amdgpu_kernel void @group(ptr addrspace(1) %out) {
  %id = call i32 @__ockl_get_group_id()
  store i32 %id, ptr addrspace(1) %out
  ret void
}
