;; Asks for the size of the whole document 1024 times.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $i i32)
    (loop $l
      (drop (call $get (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $l (i32.lt_u (local.get $i) (i32.const 1024))))
    (i32.const 1)))
