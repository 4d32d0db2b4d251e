;; Floods the log.
(module
  (import "dw" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $i i32)
    (loop $l
      (call $log (i32.const 3) (i32.const 0) (i32.const 1000))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (i32.const 4000))))
    (i32.const 1)))
