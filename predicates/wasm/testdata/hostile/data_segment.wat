;; Writes over its own data segment, and copies it to where it looks next time.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data (i32.const 100) "clean")
  (func (export "dw_evaluate") (result i32)
    (if (i32.or (i32.ne (i32.load (i32.const 100)) (i32.const 0x61656c63)) (i32.load (i32.const 65000)))
      (then (return (i32.const 2))))
    (memory.copy (i32.const 65000) (i32.const 100) (i32.const 5))
    (memory.fill (i32.const 100) (i32.const 0x78) (i32.const 5))
    (i32.const 1)))
