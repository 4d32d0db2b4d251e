;; Fills little in a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (loop $l (memory.fill (i32.const 0) (i32.const 7) (i32.const 1)) (br $l))
    (i32.const 1)))
