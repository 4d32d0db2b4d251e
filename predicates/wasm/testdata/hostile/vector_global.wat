;; Remembers in a global of vectors.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (global $v (mut v128) (v128.const i32x4 0 0 0 0))
  (func (export "dw_evaluate") (result i32)
    (if (v128.any_true (global.get $v)) (then (return (i32.const 2))))
    (global.set $v (v128.const i32x4 1 0 0 0))
    (i32.const 1)))
