;; Searches a long list for what isn't there, again and again.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 0) "/object/status/conditions/[message=y]")
  (func (export "dw_evaluate") (result i32)
    (loop $l (drop (call $get (i32.const 0) (i32.const 37) (i32.const 64) (i32.const 8))) (br $l))
    (i32.const 1)))
