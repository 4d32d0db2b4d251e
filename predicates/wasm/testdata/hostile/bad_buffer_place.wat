;; get: a buffer that begins outside the memory.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 0) "/object/status/state")
  (func (export "dw_evaluate") (result i32)
    (drop (call $get (i32.const 0) (i32.const 20) (i32.const 65537) (i32.const 0)))
    (i32.const 1)))
