;; log: what is no UTF-8, at a level that there isn't.
(module
  (import "dw" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 0) "\ff\fe\80 \00\1b[2J\n")
  (func (export "dw_evaluate") (result i32)
    (call $log (i32.const -7) (i32.const 0) (i32.const 10))
    (i32.const 1)))
