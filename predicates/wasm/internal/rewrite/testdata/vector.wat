;; Vectors: constants, shuffles, lanes, opcodes of two bytes.
(module
  (memory 1)
  (func (export "sum") (param i32) (result i32)
    (local $v v128)
    (v128.store (i32.const 16) (v128.const i32x4 1 2 3 4))
    (local.set $v (i32x4.add (v128.load (i32.const 16)) (i32x4.splat (local.get 0))))
    (local.set $v (i32x4.mul (local.get $v) (i8x16.shuffle 4 5 6 7 0 1 2 3 12 13 14 15 8 9 10 11 (local.get $v) (local.get $v))))
    (v128.store32_lane 2 (i32.const 64) (local.get $v))
    (i32.add (i32.load (i32.const 64)) (i32x4.extract_lane 1 (local.get $v))))
  (func (export "root") (param f64) (result f64)
    (f64x2.extract_lane 0 (f64x2.sqrt (f64x2.div (f64x2.splat (local.get 0)) (v128.const f64x2 4 4))))))
