;; 2^40 calls without a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func $f (param i32)
    (if (local.get 0)
      (then (call $f (i32.sub (local.get 0) (i32.const 1)))
            (call $f (i32.sub (local.get 0) (i32.const 1))))))
  (func (export "dw_evaluate") (result i32)
    (call $f (i32.const 40)) (i32.const 1)))
