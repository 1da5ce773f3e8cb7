; A kernel that calls through a pointer in memory: the attributor knows no callee.
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @indirect(ptr addrspace(1) %table, ptr addrspace(1) %out) {
  %callee = load ptr, ptr addrspace(1) %table
  call void %callee(ptr addrspace(1) %out)
  ret void
}
