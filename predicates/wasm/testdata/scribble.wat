;; Writes to its memory in every way there is: scribble takes the way, the address and
;; a number, which is the length where there is one. It starts with three times its
;; memory and a page, full of numbers.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "/params/text")
  (data $piece "0123456789abcdefghij")
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32) (i32.const 1))
  (func (export "_initialize") (local $at i32)
    (drop (memory.grow (i32.add (i32.const 1) (i32.mul (i32.const 2) (memory.size)))))
    (local.set $at (i32.const 12))
    (loop $next
      (i32.store (local.get $at) (i32.mul (i32.add (local.get $at) (i32.const 1)) (i32.const 0x9e3779b1)))
      (br_if $next (i32.lt_u
        (local.tee $at (i32.add (local.get $at) (i32.const 4)))
        (i32.mul (memory.size) (i32.const 65536))))))
  (func (export "scribble") (param $way i32) (param $at i32) (param $n i32) (result i32)
    (block $done
    (block $w21
    (block $w20
    (block $w19
    (block $w18
    (block $w17
    (block $w16
    (block $w15
    (block $w14
    (block $w13
    (block $w12
    (block $w11
    (block $w10
    (block $w9
    (block $w8
    (block $w7
    (block $w6
    (block $w5
    (block $w4
    (block $w3
    (block $w2
    (block $w1
    (block $w0
      (br_table $w0 $w1 $w2 $w3 $w4 $w5 $w6 $w7 $w8 $w9 $w10 $w11 $w12 $w13 $w14 $w15 $w16 $w17 $w18 $w19 $w20 $w21 $done (local.get $way)))
      (i32.store (local.get $at) (local.get $n)) (br $done))
      (i64.store (local.get $at) (i64.extend_i32_u (local.get $n))) (br $done))
      (f32.store (local.get $at) (f32.convert_i32_u (local.get $n))) (br $done))
      (f64.store (local.get $at) (f64.convert_i32_u (local.get $n))) (br $done))
      (i32.store8 (local.get $at) (local.get $n)) (br $done))
      (i32.store16 (local.get $at) (local.get $n)) (br $done))
      (i64.store8 (local.get $at) (i64.extend_i32_u (local.get $n))) (br $done))
      (i64.store16 (local.get $at) (i64.extend_i32_u (local.get $n))) (br $done))
      (i64.store32 (local.get $at) (i64.extend_i32_u (local.get $n))) (br $done))
      (i64.store offset=70000 (local.get $at) (i64.extend_i32_u (local.get $n))) (br $done))
      (i32.store16 offset=1023 align=1 (local.get $at) (local.get $n)) (br $done))
      (v128.store offset=3 (local.get $at) (i32x4.splat (local.get $n))) (br $done))
      (v128.store8_lane align=1 1 (local.get $at) (i32x4.splat (local.get $n))) (br $done))
      (v128.store16_lane align=1 1 (local.get $at) (i32x4.splat (local.get $n))) (br $done))
      (v128.store32_lane align=1 1 (local.get $at) (i32x4.splat (local.get $n))) (br $done))
      (v128.store64_lane align=1 1 (local.get $at) (i32x4.splat (local.get $n))) (br $done))
      (memory.fill (local.get $at) (local.get $n) (local.get $n)) (br $done))
      (memory.copy (local.get $at) (i32.const 17) (local.get $n)) (br $done))
      (memory.init $piece (local.get $at) (i32.const 1) (i32.and (local.get $n) (i32.const 15))) (br $done))
      (local.set $n (i32.wrap_i64 (call $get (i32.const 0) (i32.const 12) (local.get $at) (local.get $n)))) (br $done))
      (drop (call $random (local.get $at) (i32.and (local.get $n) (i32.const 2047)))) (br $done))
      (drop (call $clock (i32.const 0) (i64.const 0) (local.get $at))) (br $done)
    )
    (i32.const 22)))
