;; Has a dw_evaluate of another type.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i64) (i64.const 1)))
