;; Remembers by dropping a segment.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (data $d "x")
  (func (export "dw_evaluate") (result i32)
    (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1))
    (data.drop $d)
    (i32.const 1)))
