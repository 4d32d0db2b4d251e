;; Its start function and _initialize compute for long, its evaluation doesn't.
(module
  (memory (export "memory") 1)
  (global $ready (mut i32) (i32.const 0))
  (func $spin (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 100000)))))
  (func $start (call $spin))
  (func (export "_initialize") (call $spin) (global.set $ready (i32.const 1)))
  (start $start)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (global.get $ready)))
