; A kernel that calls a function of another object: the attributor keeps every hidden argument.
target triple = "amdgcn-amd-amdhsa"
declare void @helper(ptr addrspace(1))
define amdgpu_kernel void @calls(ptr addrspace(1) %out) {
  call void @helper(ptr addrspace(1) %out)
  ret void
}
