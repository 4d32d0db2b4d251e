;; Writes what is no UTF-8, and crashes.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 0) "\08\00\00\00\08\00\00\00")
  (data (i32.const 8) "no \ff\fe\1b[2")
  (func (export "dw_evaluate") (result i32)
    (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 100)))
    (unreachable)))
