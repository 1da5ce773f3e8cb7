; Small kernels for the tests of the launcher, not for the project's users.
target triple = "spirv64v1.2-unknown-unknown"

declare spir_func i64 @_Z13get_global_idj(i32)

; out[i] = value + i
define spir_kernel void @count_up(ptr addrspace(1) %out, i32 %value) {
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %low = trunc i64 %i to i32
  %sum = add i32 %value, %low
  %to = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %i
  store i32 %sum, ptr addrspace(1) %to, align 4
  ret void
}

; Writes to the peer and waits for the peer's word, at most `limit` looks; own[1] = what was seen.
define spir_kernel void @meet(ptr addrspace(1) %own, ptr addrspace(1) %peer, i32 %value, i32 %limit) {
entry:
  store volatile i32 %value, ptr addrspace(1) %peer, align 4
  br label %look
look:
  %n = phi i32 [ 0, %entry ], [ %next, %again ]
  %seen = load volatile i32, ptr addrspace(1) %own, align 4
  %there = icmp ne i32 %seen, 0
  br i1 %there, label %done, label %again
again:
  %next = add i32 %n, 1
  %more = icmp ult i32 %next, %limit
  br i1 %more, label %look, label %done
done:
  %to = getelementptr inbounds i32, ptr addrspace(1) %own, i64 1
  store i32 %seen, ptr addrspace(1) %to, align 4
  ret void
}

; Waits for ever, as long as the word stays 0.
define spir_kernel void @hang(ptr addrspace(1) %word) {
entry:
  br label %look
look:
  %seen = load volatile i32, ptr addrspace(1) %word, align 4
  %there = icmp ne i32 %seen, 0
  br i1 %there, label %done, label %look
done:
  ret void
}

; Stores where no memory is.
define spir_kernel void @crash(ptr addrspace(1) %base) {
  %far = getelementptr i8, ptr addrspace(1) %base, i64 -140737488355328
  store i32 1, ptr addrspace(1) %far, align 4
  ret void
}
