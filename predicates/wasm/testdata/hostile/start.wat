;; A start function that spins.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func $s (loop $l (br $l)))
  (start $s)
  (func (export "dw_evaluate") (result i32)
    (i32.const 1)))
