;; Makes references to functions in a loop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (elem declare func $f)
  (func $f)
  (func (export "dw_evaluate") (result i32)
    (loop $l (drop (ref.func $f)) (br $l))
    (i32.const 1)))
