;; Claims a gigabyte of memory.
(module
  (memory (export "memory") 16384)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (i32.const 1)))
