;; fd_write: a part outside the memory.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 0) "\ff\ff\00\00\08\00\00\00")
  (func (export "dw_evaluate") (result i32)
    (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
    (i32.const 1)))
