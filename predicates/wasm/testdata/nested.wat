;; Asks for /params/x in a function of its own.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "/params/x")
  (func (export "dw_abi_v1"))
  (func $ask (result i32)
    (i32.wrap_i64 (call $get (i32.const 0) (i32.const 9) (i32.const 1024) (i32.const 1024))))
  (func (export "dw_evaluate") (result i32)
    (drop (call $ask))
    (i32.const 1)))
