; Two kernels: one quiet, one that prints through a helper; one function is imported.
target triple = "spirv64v1.2-unknown-unknown"
@format = internal addrspace(2) constant [3 x i8] c"%d\00"
declare spir_func i32 @printf(ptr addrspace(2), ...)
declare spir_func void @elsewhere(i32)
define internal spir_func void @say(i32 %value) noinline {
  %r = call spir_func i32 (ptr addrspace(2), ...) @printf(ptr addrspace(2) @format, i32 %value)
  ret void
}
define spir_kernel void @quiet(ptr addrspace(1) %in, <3 x float> %v, i16 %small) !intel_reqd_sub_group_size !0 {
  store volatile i16 %small, ptr addrspace(1) %in
  ret void
}
define spir_kernel void @loud(i32 %value) {
  call spir_func void @say(i32 %value)
  call spir_func void @elsewhere(i32 %value)
  ret void
}
!0 = !{i32 16}
