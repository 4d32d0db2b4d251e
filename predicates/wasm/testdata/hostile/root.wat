;; Takes square roots in a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $x f64)
    (local.set $x (f64.const 1e300))
    (loop $l
      (local.set $x (f64.add (f64.sqrt (f64.sqrt (f64.sqrt (local.get $x)))) (f64.const 1e300)))
      (br $l))
    (i32.const 1)))
