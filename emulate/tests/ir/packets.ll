; Two ranks exchange sentinel packets: each thread pushes four, polls its own inbox for four, puts the sentinel back,
; and stores the sums. LOAD, STORE, WAIT and DRAIN are the target's own.
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.sleep(i32)
declare i1 @llvm.vector.reduce.or.v4i1(<4 x i1>)

define internal ptr addrspace(1) @packet(ptr addrspace(1) %base, i64 %thread, i64 %k) alwaysinline {
  %row = mul i64 %k, 64
  %n = add i64 %row, %thread
  %p = getelementptr <4 x i32>, ptr addrspace(1) %base, i64 %n
  ret ptr addrspace(1) %p
}

define internal void @push(ptr addrspace(1) %to, <4 x i32> %data) alwaysinline {
  call void asm sideeffect "STORE", "v,v,~{memory}"(ptr addrspace(1) %to, <4 x i32> %data)
  ret void
}

define amdgpu_kernel void @exchange(ptr addrspace(1) %own, ptr addrspace(1) %peer, ptr addrspace(1) %in, ptr addrspace(1) %out) "amdgpu-flat-work-group-size"="64,64" {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %thread = zext i32 %t to i64
  br label %packets
packets:
  %k = phi i64 [ 0, %entry ], [ %next, %pushed ]
  %from = call ptr addrspace(1) @packet(ptr addrspace(1) %in, i64 %thread, i64 %k)
  %mine = load <4 x i32>, ptr addrspace(1) %from, align 16
  %to = call ptr addrspace(1) @packet(ptr addrspace(1) %peer, i64 %thread, i64 %k)
  call void @push(ptr addrspace(1) %to, <4 x i32> %mine)
  br label %pushed
pushed:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 4
  br i1 %more, label %packets, label %receive
receive:
  br label %arrivals
arrivals:
  %j = phi i64 [ 0, %receive ], [ %after, %arrived ]
  %box = call ptr addrspace(1) @packet(ptr addrspace(1) %own, i64 %thread, i64 %j)
  br label %poll
poll:
  %data = call <4 x i32> asm sideeffect "LOAD\0AWAIT", "=&v,v,~{memory}"(ptr addrspace(1) %box)
  %missing = icmp eq <4 x i32> %data, splat (i32 -1)
  %any = call i1 @llvm.vector.reduce.or.v4i1(<4 x i1> %missing)
  br i1 %any, label %again, label %arrived
again:
  call void @llvm.amdgcn.s.sleep(i32 1)
  br label %poll
arrived:
  call void @push(ptr addrspace(1) %box, <4 x i32> splat (i32 -1))
  %again.in = call ptr addrspace(1) @packet(ptr addrspace(1) %in, i64 %thread, i64 %j)
  %own.data = load <4 x float>, ptr addrspace(1) %again.in, align 16
  %their.data = bitcast <4 x i32> %data to <4 x float>
  %sum = fadd <4 x float> %own.data, %their.data
  %result = call ptr addrspace(1) @packet(ptr addrspace(1) %out, i64 %thread, i64 %j)
  store <4 x float> %sum, ptr addrspace(1) %result, align 16
  %after = add i64 %j, 1
  %left = icmp ult i64 %after, 4
  br i1 %left, label %arrivals, label %done
done:
  call void asm sideeffect "DRAIN", "~{memory}"()
  ret void
}
