;; Writes its whole memory 1,024 times at once, again and again.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $i i32)
    (loop $parts
      (i32.store (i32.add (local.get $i) (i32.const 4)) (i32.const 65536))
      (local.set $i (i32.add (local.get $i) (i32.const 8)))
      (br_if $parts (i32.lt_u (local.get $i) (i32.const 8192))))
    (loop $l
      (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1024) (i32.const 60000)))
      (br $l))
    (i32.const 1)))
