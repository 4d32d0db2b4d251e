;; get: a buffer that ends outside the memory.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (drop (call $get (i32.const 0) (i32.const 0) (i32.const 60000) (i32.const 10000)))
    (i32.const 1)))
