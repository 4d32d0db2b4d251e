;; Says that it cannot judge.
(module
  (import "dw" "result" (func $result (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 0) "no such publish context")
  (func (export "dw_evaluate") (result i32)
    (call $result (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 23)) (i32.const 3)))
