;; Starts with two pages of memory and takes one more before its first call. It is done
;; if it can have another one, pending if not.
(module
  (memory (export "memory") 2)
  (func (export "dw_abi_v1"))
  (func (export "_initialize") (drop (memory.grow (i32.const 1))))
  (func (export "dw_evaluate") (result i32)
    (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
