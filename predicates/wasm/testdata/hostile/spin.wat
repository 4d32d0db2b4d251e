;; An endless loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (loop $l (br $l)) (i32.const 1)))
