;; Imports what there isn't, in part of the right name.
(module
  (import "env" "abort" (func (param i32 i32)))
  (import "dw" "get" (func (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func (result i32)))
  (import "env" "memory" (memory 1))
  (func (export "dw_abi_v1"))
  (func (export "dw_evaluate") (result i32) (i32.const 1)))
