;; result: a code that ends outside the memory.
(module
  (import "dw" "result" (func $result (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (call $result (i32.const 65535) (i32.const -1) (i32.const 0) (i32.const 0))
    (i32.const 1)))
