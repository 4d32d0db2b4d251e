;; Writes 1,024 parts of no bytes, again and again.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (loop $l
      (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1024) (i32.const 60000)))
      (br $l))
    (i32.const 1)))
