;; Copies a table in a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (table $t 65536 funcref)
  (func (export "dw_evaluate") (result i32)
    (loop $l (table.copy $t $t (i32.const 0) (i32.const 32768) (i32.const 32768)) (br $l))
    (i32.const 1)))
