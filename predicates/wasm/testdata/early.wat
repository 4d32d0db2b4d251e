;; Asks for the whole document before its first call, when there is none, and gives back
;; what it is told then. It needs a new instance for each call.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (import "dw" "result" (func $result (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (table $t 1 funcref)
  (func (export "dw_abi_v1"))
  (func $ask (result i32)
    (i32.wrap_i64 (call $get (i32.const 0) (i32.const 0) (i32.const 1024) (i32.const 1024))))
  (func (export "_initialize") (table.set $t (i32.const 0) (ref.null func)) (drop (call $ask)))
  (func (export "dw_evaluate") (result i32)
    (call $result (i32.const 0) (i32.const 0) (i32.const 1024) (call $ask))
    (i32.const 1)))
