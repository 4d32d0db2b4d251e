;; Fails with what /params/key says, as the reason and as the message; it accepts no
;; params and says why in the same words.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (import "dw" "result" (func $result (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "/params/key")
  (func (export "dw_abi_v1"))
  (func $tell (param $code i32)
    (local $n i32)
    (local.set $n (i32.wrap_i64 (call $get (i32.const 0) (i32.const 11) (i32.const 1024) (i32.const 2048))))
    (call $result (i32.const 1024) (select (local.get $n) (i32.const 0) (local.get $code)) (i32.const 1024) (local.get $n)))
  (func (export "dw_evaluate") (result i32)
    (call $tell (i32.const 1))
    (i32.const 2))
  (func (export "dw_validate") (result i32)
    (call $tell (i32.const 0))
    (i32.ne (i32.load8_u (i32.const 1024)) (i32.const 0x53))))
