;; Calls without a loop.
(module
  (func $down (export "down") (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (i32.add (call $down (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))
      (else (i32.const 0))))
  ;; 2^n calls, each of which returns.
  (func $tree (export "tree") (param i32)
    (if (local.get 0)
      (then
        (call $tree (i32.sub (local.get 0) (i32.const 1)))
        (call $tree (i32.sub (local.get 0) (i32.const 1)))))))
