;; Done when /object/status/state is "Attached", failed when "AttachmentFailed",
;; else pending with a message. dw_validate accepts where /settings/strict is true.
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (import "dw" "result" (func $result (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "/object/status/state")
  (data (i32.const 32) "Attached")
  (data (i32.const 64) "AttachmentFailed")
  (data (i32.const 96) "/settings/strict")
  (data (i32.const 128) "Internal/AttachFailed")
  (data (i32.const 160) "waiting for the disk")
  (func (export "dw_abi_v1"))
  (func (export "dw_validate") (result i32)
    (i64.eq (call $get (i32.const 96) (i32.const 16) (i32.const 1024) (i32.const 64)) (i64.const 0x200000004)))
  ;; Whether the n bytes at 1024 are those at p.
  (func $same (param $p i32) (param $n i32) (result i32)
    (local $i i32)
    (loop $next
      (if (i32.ne (i32.load8_u (i32.add (local.get $p) (local.get $i)))
                  (i32.load8_u (i32.add (i32.const 1024) (local.get $i))))
        (then (return (i32.const 0))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (i32.const 1))
  (func (export "dw_evaluate") (result i32)
    (local $r i64)
    (local.set $r (call $get (i32.const 0) (i32.const 20) (i32.const 1024) (i32.const 64)))
    (if (i64.eq (local.get $r) (i64.const 0x500000008)) ;; a string of 8 bytes
      (then (if (call $same (i32.const 32) (i32.const 8)) (then (return (i32.const 1))))))
    (if (i64.eq (local.get $r) (i64.const 0x500000010))
      (then (if (call $same (i32.const 64) (i32.const 16))
        (then
          (call $result (i32.const 128) (i32.const 21) (i32.const 1024) (i32.const 16))
          (return (i32.const 2))))))
    (call $result (i32.const 0) (i32.const 0) (i32.const 160) (i32.const 20))
    (i32.const 0)))
