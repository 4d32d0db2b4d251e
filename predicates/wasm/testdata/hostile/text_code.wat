;; result: a code that is no UTF-8.
(module
  (import "dw" "result" (func $result (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 0) "\ff\fe")
  (func (export "dw_evaluate") (result i32)
    (call $result (i32.const 0) (i32.const 2) (i32.const 0) (i32.const 0))
    (i32.const 2)))
