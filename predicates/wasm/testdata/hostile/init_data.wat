;; Copies a passive data segment: memory.init, without data.drop.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data $d "clean")
  (func (export "dw_evaluate") (result i32)
    (if (i32.load (i32.const 200)) (then (return (i32.const 2))))
    (memory.init $d (i32.const 200) (i32.const 0) (i32.const 5))
    (i32.const 1)))
