;; Works on vectors in a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $v v128)
    (local.set $v (v128.const i32x4 1 2 3 4))
    (loop $l
      (local.set $v (i64x2.mul (f64x2.nearest (f64x2.sqrt (local.get $v))) (i8x16.popcnt (i64x2.shr_s (local.get $v) (i32.const 3)))))
      (br $l))
    (i32.const 1)))
