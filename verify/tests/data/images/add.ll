; A kernel that needs nothing: two pointers, a scalar and a little shared memory.
target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x float] poison, align 16
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @add(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %count) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %slot = getelementptr float, ptr addrspace(3) @tile, i32 %id
  %from = getelementptr float, ptr addrspace(1) %in, i32 %id
  %value = load float, ptr addrspace(1) %from
  store volatile float %value, ptr addrspace(3) %slot
  %back = load volatile float, ptr addrspace(3) %slot
  %sum = fadd float %back, 1.0
  %to = getelementptr float, ptr addrspace(1) %out, i32 %count
  store float %sum, ptr addrspace(1) %to
  ret void
}
