; The other object of calls.ll, with the symbol that a failing device assert leaves.
target triple = "amdgcn-amd-amdhsa"
define void @__assert_fail(ptr addrspace(1) %out) noinline {
  store volatile i32 2, ptr addrspace(1) %out
  ret void
}
define void @helper(ptr addrspace(1) %out) noinline {
  store volatile i32 1, ptr addrspace(1) %out
  call void @__assert_fail(ptr addrspace(1) %out)
  ret void
}
