;; Copies its whole memory in a loop.
(module
  (memory (export "memory") 128)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (loop $l (memory.copy (i32.const 0) (i32.const 4194304) (i32.const 4194304)) (br $l))
    (i32.const 1)))
