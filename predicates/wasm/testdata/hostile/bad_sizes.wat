;; args_sizes_get: the second place is outside the memory.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (drop (call $sizes (i32.const 0) (i32.const 65533)))
    (i32.const 1)))
