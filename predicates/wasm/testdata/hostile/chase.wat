;; Chases pointers over its whole memory.
(module
  (memory (export "memory") 128)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $i i32) (local $p i32)
    ;; A permutation of all cache lines: i -> 5i + 1, of which the next is far away.
    (loop $fill
      (i32.store (i32.shl (local.get $i) (i32.const 6))
        (i32.shl (i32.and (i32.add (i32.mul (local.get $i) (i32.const 32765)) (i32.const 1)) (i32.const 131071)) (i32.const 6)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $fill (i32.lt_u (local.get $i) (i32.const 131072))))
    (loop $l
      (local.set $p (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load (i32.load (local.get $p))))))))))
      (br $l))
    (i32.const 1)))
