;; Divides in a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $x i64)
    (local.set $x (i64.const 0x7fffffffffffffff))
    (loop $l
      (local.set $x (i64.or (i64.div_s (i64.const 0x7fffffffffffffff) (local.get $x)) (i64.const 3)))
      (br $l))
    (i32.const 1)))
