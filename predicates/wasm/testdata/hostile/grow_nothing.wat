;; Grows its memory by nothing in a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (loop $l (drop (memory.grow (i32.const 0))) (br $l))
    (i32.const 1)))
