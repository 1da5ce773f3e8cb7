; Two kernels: one quiet, one that prints through a helper and keeps an array in local memory.
target triple = "nvptx64-nvidia-cuda"
@format = internal addrspace(4) constant [3 x i8] c"%d\00"
@tile = internal addrspace(3) global [64 x float] poison, align 16
declare i32 @vprintf(ptr, ptr)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define internal void @say(ptr %arguments) noinline {
  %text = addrspacecast ptr addrspace(4) @format to ptr
  %r = call i32 @vprintf(ptr %text, ptr %arguments)
  ret void
}
define ptx_kernel void @quiet(ptr addrspace(1) %in, i8 %small, i64 %wide, i32 %count) {
  %slot = getelementptr float, ptr addrspace(3) @tile, i32 %count
  %value = load float, ptr addrspace(1) %in
  store volatile float %value, ptr addrspace(3) %slot
  ret void
}
define ptx_kernel void @loud(ptr addrspace(1) %in, i32 %at) "nvvm.maxntid"="128,2,1" {
  %array = alloca [16 x i32], align 4
  %slot = getelementptr [16 x i32], ptr %array, i32 0, i32 %at
  store volatile i32 %at, ptr %slot
  call void @say(ptr %array)
  ret void
}
