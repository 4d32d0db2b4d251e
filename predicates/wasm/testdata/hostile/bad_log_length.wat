;; log: a text that ends outside the memory.
(module
  (import "dw" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (call $log (i32.const 3) (i32.const 1) (i32.const -1))
    (i32.const 1)))
