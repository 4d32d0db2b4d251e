;; Gives back what get says of the path in /params/path: its type as the code
;; (T0 to T7), its value as the message.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (import "dw" "result" (func $result (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "/params/path")
  (data (i32.const 16) "T")
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $r i64)
    (local.set $r (call $get (i32.const 0) (i32.const 12) (i32.const 1024) (i32.const 1024)))
    (local.set $r (call $get (i32.const 1024) (i32.wrap_i64 (local.get $r)) (i32.const 4096) (i32.const 2048)))
    (i32.store8 (i32.const 17) (i32.add (i32.const 48) (i32.wrap_i64 (i64.shr_u (local.get $r) (i64.const 32)))))
    (call $result (i32.const 16) (i32.const 2) (i32.const 4096) (i32.wrap_i64 (local.get $r)))
    (i32.const 1)))
