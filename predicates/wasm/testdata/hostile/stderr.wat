;; Floods its output, then crashes.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 0) "\08\00\00\00\40\00\00\00")
  (data (i32.const 8) "panic: the disk has no LUN, and here are many more words of it \n")
  (func (export "dw_evaluate") (result i32)
    (local $i i32)
    (loop $l
      (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 100)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (i32.const 10000))))
    (unreachable)))
