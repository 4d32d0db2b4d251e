;; Has a mebibyte of memory, and writes to each page of it.
(module
  (memory (export "memory") 16)
  (data (i32.const 8) "the disk")
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (local $p i32)
    (loop $l
      (i32.store (local.get $p) (i32.const 1))
      (local.set $p (i32.add (local.get $p) (i32.const 4096)))
      (br_if $l (i32.lt_u (local.get $p) (i32.const 0x100000))))
    (i32.const 1)))
