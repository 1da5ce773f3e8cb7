; What LLVM makes of it differs between generations of NVIDIA's processors; the results do not. Eight elements of f16 and
; of bf16 a thread, summed in f32 and rounded; bytes, bit operations, divisions; fences and scoped accesses.
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.bswap.i32(i32)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare float @llvm.minnum.f32(float, float)

define ptx_kernel void @elements(ptr addrspace(1) %in, ptr addrspace(1) %out, ptr addrspace(1) %words) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = zext i32 %thread to i64
  %in.at = getelementptr <8 x half>, ptr addrspace(1) %in, i64 %at
  %out.at = getelementptr [2 x <8 x half>], ptr addrspace(1) %out, i64 %at
  %out.second = getelementptr <8 x half>, ptr addrspace(1) %out.at, i64 1
  %words.at = getelementptr [4 x i32], ptr addrspace(1) %words, i64 %at
  %h = load <8 x half>, ptr addrspace(1) %in.at, align 16
  %b = load <8 x bfloat>, ptr addrspace(1) %in.at, align 16
  %hf = fpext <8 x half> %h to <8 x float>
  %bf = fpext <8 x bfloat> %b to <8 x float>
  %sum = fadd <8 x float> %hf, %bf
  %product = fmul <8 x float> %sum, %bf
  %hs = fptrunc <8 x float> %product to <8 x half>
  %bs = fptrunc <8 x float> %sum to <8 x bfloat>
  store <8 x half> %hs, ptr addrspace(1) %out.at, align 16
  store <8 x bfloat> %bs, ptr addrspace(1) %out.second, align 16
  %one = extractelement <8 x bfloat> %bs, i32 3
  store bfloat %one, ptr addrspace(1) %out.at, align 2
  %byte = load i8, ptr addrspace(1) %in.at
  %wide = sext i8 %byte to i32
  %turned = call i32 @llvm.fshl.i32(i32 %wide, i32 %thread, i32 %thread)
  %swapped = call i32 @llvm.bswap.i32(i32 %turned)
  %larger = call i32 @llvm.smax.i32(i32 %swapped, i32 %thread)
  %divisor = or i32 %thread, 3
  %quotient = udiv i32 %larger, %divisor
  %rest = urem i32 %quotient, 12
  %ones = call i32 @llvm.ctpop.i32(i32 %rest)
  %zeros = call i32 @llvm.ctlz.i32(i32 %rest, i1 false)
  %count = add i32 %ones, %zeros
  %float = uitofp i32 %count to float
  %least = call float @llvm.minnum.f32(float %float, float 30.0)
  store float %least, ptr addrspace(1) %words.at
  fence seq_cst
  fence syncscope("device") acq_rel
  fence syncscope("block") acquire
  %word.1 = getelementptr i32, ptr addrspace(1) %words.at, i64 1
  %word.2 = getelementptr i32, ptr addrspace(1) %words.at, i64 2
  %old = atomicrmw add ptr addrspace(1) %word.1, i32 %rest seq_cst
  %pair = load atomic i64, ptr addrspace(1) %words.at syncscope("device") acquire, align 8
  store atomic i64 %pair, ptr addrspace(1) %word.2 seq_cst, align 8
  ret void
}
