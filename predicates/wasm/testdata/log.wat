;; Logs the string at /object/status/state, at the level in its first byte ("0" to "3").
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (import "dw" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "/object/status/state")
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $n i32)
    (local.set $n (i32.wrap_i64 (call $get (i32.const 0) (i32.const 20) (i32.const 1024) (i32.const 8192))))
    (call $log (i32.sub (i32.load8_u (i32.const 1024)) (i32.const 48)) (i32.const 1024) (local.get $n))
    (i32.const 1)))
