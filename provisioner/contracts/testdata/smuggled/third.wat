;; Done from the third evaluation on: it hopes to be judged twice before it matters.
(module
  (memory (export "memory") 1)
  (global $calls (mut i32) (i32.const 0))
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (i32.gt_u (global.get $calls) (i32.const 2))))
