;; Globals of every kind, and a start function.
(module
  (global $i (mut i32) (i32.const 1))
  (global $c i64 (i64.const 7))
  (global $f (mut f64) (f64.const 1.5))
  (global $v (mut v128) (v128.const i32x4 1 2 3 4))
  (func $start (global.set $i (i32.const 10)))
  (start $start)
  (func (export "next") (result i32)
    (global.set $i (i32.add (global.get $i) (i32.const 1)))
    (global.set $f (f64.add (global.get $f) (f64.const 1)))
    (global.get $i))
  (func (export "constant") (result i64) (global.get $c))
  (func (export "half") (result f64) (global.get $f)))
