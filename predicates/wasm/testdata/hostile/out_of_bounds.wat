;; Reads beyond its memory.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (i32.load (i32.const 65533))))
