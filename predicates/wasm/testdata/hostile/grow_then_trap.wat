;; Asks for more memory than it may have, goes on with less, and crashes for another reason.
(module
  (memory (export "memory") 1)
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32)
    (drop (memory.grow (i32.const 200)))
    (drop (memory.grow (i32.const 1)))
    (unreachable)))
