;; Endless recursion.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func $f (result i32) (i32.add (call $f) (i32.const 1)))
  (func (export "dw_evaluate") (result i32)
    (call $f)))
