;; Fills its memory with random numbers, again and again.
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (loop $l (drop (call $random (i32.const 0) (i32.const 65536))) (br $l))
    (i32.const 1)))
