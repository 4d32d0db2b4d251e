;; Has no dw_evaluate.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  )
