;; Calls through a table in a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (table 1 funcref)
  (elem (i32.const 0) $f)
  (func $f)
  (func (export "dw_evaluate") (result i32)
    (loop $l (call_indirect (i32.const 0)) (call_indirect (i32.const 0)) (br $l))
    (i32.const 1)))
