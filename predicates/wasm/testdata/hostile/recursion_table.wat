;; Endless recursion through a table, with results to be kept.
(module
  (memory (export "memory") 1)
  (type $pair (func (param i64) (result i64 i64)))
  (table 1 funcref)
  (elem (i32.const 0) $f)
  (func (export "dw_abi_v1"))
  (func $f (type $pair)
    (if (i64.eqz (local.get 0)) (then (return (i64.const 1) (i64.const 2))))
    (call_indirect (type $pair) (i64.add (local.get 0) (i64.const 1)) (i32.const 0))
    (i64.add (local.get 0)))
  (func (export "dw_evaluate") (result i32)
    (call $f (i64.const 1))
    (i32.wrap_i64 (i64.add))))
