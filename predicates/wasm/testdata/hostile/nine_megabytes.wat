;; Claims more memory than the limit.
(module
  (memory (export "memory") 144)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (i32.const 1)))
