;; Remembers in a table.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (table $t 1 funcref)
  (elem declare func $f)
  (func $f)
  (func (export "dw_evaluate") (result i32)
    (if (i32.eqz (ref.is_null (table.get $t (i32.const 0)))) (then (return (i32.const 2))))
    (table.set $t (i32.const 0) (ref.func $f))
    (i32.const 1)))
