;; Takes all memory there is, and crashes without more.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (loop $l
      (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then (unreachable)))
      (br $l))
    (i32.const 1)))
