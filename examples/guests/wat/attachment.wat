;; Whether a disk is attached, with a LUN that a node can use. See ../README.md.
;;
;; Memory: strings from 0; state at 1024 (32 bytes), LUN at 1088 and params.lun at
;; 1152 (64 each), a number at 1216 (24), the code at 1280 (64), the text that is put
;; together at 2048 (512), the error's message at 4096 (4096).
(module
  (import "dw" "get" (func $get (param i32 i32 i32 i32) (result i64)))
  (import "dw" "result" (func $result (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "/dev/disk/azure/scsi")
  (data (i32.const 32) "/lun")
  (data (i32.const 48) "/settings/maxLUN")
  (data (i32.const 64) "settings.maxLUN must be an integer from 0 to 255")
  (data (i32.const 112) "/params/lun")
  (data (i32.const 128) "params.lun is no LUN")
  (data (i32.const 160) "/object/status/detail/publish_context/LUN")
  (data (i32.const 208) "the attachment is complete but has no LUN")
  (data (i32.const 256) "Internal/LUNMissing")
  (data (i32.const 288) "no LUN from 0 to ")
  (data (i32.const 320) ": ")
  (data (i32.const 336) "Internal/BadLUN")
  (data (i32.const 352) "attached at LUN ")
  (data (i32.const 368) "Attached")
  (data (i32.const 384) ", Publish returned LUN ")
  (data (i32.const 416) "OtherLUN")
  (data (i32.const 432) "/object/status/error/code")
  (data (i32.const 464) "/")
  (data (i32.const 480) "AttachFailed")
  (data (i32.const 496) "/object/status/error/message")
  (data (i32.const 528) "attach failed, no error was recorded")
  (data (i32.const 576) "/object/status/state")
  (data (i32.const 608) "status.state is no word")
  (data (i32.const 640) "/object/status/annotation/disk.csi.azure.com~1volume-detach-request")
  (data (i32.const 720) "Detaching")
  (data (i32.const 736) "Detached")
  (data (i32.const 752) "DetachmentFailed")
  (data (i32.const 768) "ForceDetachPending")
  (data (i32.const 800) "state is \"")
  (data (i32.const 816) "\", the disk is being detached")
  (data (i32.const 848) "Aborted/DetachRequested")
  (data (i32.const 880) "AttachmentFailed")
  (data (i32.const 896) "LUN ")
  (data (i32.const 912) " is promised, the attach is running")
  (data (i32.const 960) "Attaching")
  (data (i32.const 976) "\", there is no LUN yet")
  (data (i32.const 1008) "NoLUN")
  (global $len (mut i32) (i32.const 0)) ;; of the text at 2048

  (func (export "dw_abi_v1"))

  ;; What a field is, out of what get returns: 0 absent, 1 null, 3 int, 5 string.
  (func $type (param $r i64) (result i32)
    (i32.wrap_i64 (i64.shr_u (local.get $r) (i64.const 32))))

  ;; The length of a string that fits, else 0.
  (func $length (param $r i64) (param $room i32) (result i32)
    (select (i32.wrap_i64 (local.get $r)) (i32.const 0)
      (i32.and (i32.eq (call $type (local.get $r)) (i32.const 5))
               (i32.le_u (i32.wrap_i64 (local.get $r)) (local.get $room)))))

  (func $has (param $path i32) (param $n i32) (result i32)
    (i32.gt_u (call $type (call $get (local.get $path) (local.get $n) (i32.const 0) (i32.const 0))) (i32.const 1)))

  ;; Whether the n bytes at p begin with the m bytes at q.
  (func $begins (param $p i32) (param $n i32) (param $q i32) (param $m i32) (result i32)
    (if (i32.lt_u (local.get $n) (local.get $m)) (then (return (i32.const 0))))
    (loop $next
      (if (i32.eqz (local.get $m)) (then (return (i32.const 1))))
      (local.set $m (i32.sub (local.get $m) (i32.const 1)))
      (br_if $next (i32.eq (i32.load8_u (i32.add (local.get $p) (local.get $m)))
                           (i32.load8_u (i32.add (local.get $q) (local.get $m))))))
    (i32.const 0))

  ;; Whether the state of n bytes is this word.
  (func $is (param $n i32) (param $q i32) (param $m i32) (result i32)
    (i32.and (i32.eq (local.get $n) (local.get $m))
             (call $begins (i32.const 1024) (local.get $n) (local.get $q) (local.get $m))))

  ;; Adds to the text.
  (func $add (param $p i32) (param $n i32)
    (local $i i32)
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $i) (local.get $n)))
        (i32.store8 offset=2048 (i32.add (global.get $len) (local.get $i))
          (i32.load8_u (i32.add (local.get $p) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (global.set $len (i32.add (global.get $len) (local.get $n))))

  ;; Adds a number.
  (func $add_number (param $n i32)
    (local $p i32)
    (local.set $p (i32.const 1240))
    (loop $next
      (local.set $p (i32.sub (local.get $p) (i32.const 1)))
      (i32.store8 (local.get $p) (i32.add (i32.const 48) (i32.rem_u (local.get $n) (i32.const 10))))
      (br_if $next (local.tee $n (i32.div_u (local.get $n) (i32.const 10)))))
    (call $add (local.get $p) (i32.sub (i32.const 1240) (local.get $p))))

  ;; Returns the verdict, with the code and the text.
  (func $say (param $verdict i32) (param $code i32) (param $n i32) (result i32)
    (call $result (local.get $code) (local.get $n) (i32.const 2048) (global.get $len))
    (local.get $verdict))

  (func $digit (param $p i32) (result i32)
    (i32.lt_u (i32.sub (i32.load8_u (local.get $p)) (i32.const 48)) (i32.const 10)))

  ;; Reads the digits of a LUN from 0 to max; -1 if they are none.
  (func $number (param $p i32) (param $n i32) (param $max i32) (result i32)
    (local $sum i32)
    (if (i32.or (i32.eqz (local.get $n)) (i32.gt_u (local.get $n) (i32.const 3))) (then (return (i32.const -1))))
    (if (i32.and (i32.gt_u (local.get $n) (i32.const 1)) (i32.eq (i32.load8_u (local.get $p)) (i32.const 48)))
      (then (return (i32.const -1))))
    (loop $next
      (if (i32.eqz (call $digit (local.get $p))) (then (return (i32.const -1))))
      (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 10))
                               (i32.sub (i32.load8_u (local.get $p)) (i32.const 48))))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (select (local.get $sum) (i32.const -1) (i32.le_u (local.get $sum) (local.get $max))))

  ;; Reads a LUN: a number, or a path such as /dev/disk/azure/scsi1/lun3; -1 if it is
  ;; none.
  (func $lun (param $p i32) (param $n i32) (param $max i32) (result i32)
    (local $end i32) (local $host i32)
    (if (i32.eqz (call $begins (local.get $p) (local.get $n) (i32.const 0) (i32.const 20)))
      (then (return (call $number (local.get $p) (local.get $n) (local.get $max)))))
    (local.set $end (i32.add (local.get $p) (local.get $n)))
    (local.set $p (local.tee $host (i32.add (local.get $p) (i32.const 20))))
    (block $stop
      (loop $next
        (br_if $stop (i32.ge_u (local.get $p) (local.get $end)))
        (br_if $stop (i32.eqz (call $digit (local.get $p))))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (br $next)))
    (if (i32.eq (local.get $p) (local.get $host)) (then (return (i32.const -1))))
    (if (i32.eqz (call $begins (local.get $p) (i32.sub (local.get $end) (local.get $p)) (i32.const 32) (i32.const 4)))
      (then (return (i32.const -1))))
    (local.set $p (i32.add (local.get $p) (i32.const 4)))
    (call $number (local.get $p) (i32.sub (local.get $end) (local.get $p)) (local.get $max)))

  ;; The largest LUN: settings.maxLUN, 63 if there is none, -1 if it is nonsense.
  (func $max (result i32)
    (local $r i64)
    (local.set $r (call $get (i32.const 48) (i32.const 16) (i32.const 1216) (i32.const 24)))
    (if (i32.le_u (call $type (local.get $r)) (i32.const 1)) (then (return (i32.const 63))))
    (if (i32.ne (call $type (local.get $r)) (i32.const 3)) (then (return (i32.const -1))))
    (call $number (i32.const 1216) (i32.wrap_i64 (local.get $r)) (i32.const 255)))

  (func (export "dw_validate") (result i32)
    (local $max i32) (local $r i64)
    (if (i32.eq (local.tee $max (call $max)) (i32.const -1))
      (then
        (call $add (i32.const 64) (i32.const 48))
        (return (call $say (i32.const 0) (i32.const 0) (i32.const 0)))))
    (local.set $r (call $get (i32.const 112) (i32.const 11) (i32.const 1152) (i32.const 64)))
    (if (i32.le_u (call $type (local.get $r)) (i32.const 1)) (then (return (i32.const 1))))
    (if (i64.eq (local.get $r) (i64.const 0x500000000)) (then (return (i32.const 1)))) ;; empty
    (if (i32.eq (call $lun (i32.const 1152) (call $length (local.get $r) (i32.const 64)) (local.get $max)) (i32.const -1))
      (then
        (call $add (i32.const 128) (i32.const 20))
        (return (call $say (i32.const 0) (i32.const 0) (i32.const 0)))))
    (i32.const 1))

  (func $attached (result i32)
    (local $r i64) (local $max i32) (local $n i32) (local $m i32)
    (local.set $max (call $max))
    (local.set $r (call $get (i32.const 160) (i32.const 41) (i32.const 1088) (i32.const 64)))
    (if (i32.or (i32.le_u (call $type (local.get $r)) (i32.const 1)) (i64.eq (local.get $r) (i64.const 0x500000000)))
      (then
        (call $add (i32.const 208) (i32.const 41))
        (return (call $say (i32.const 2) (i32.const 256) (i32.const 19)))))
    (local.set $n (call $lun (i32.const 1088) (call $length (local.get $r) (i32.const 64)) (local.get $max)))
    (if (i32.eq (local.get $n) (i32.const -1))
      (then
        (call $add (i32.const 288) (i32.const 17))
        (call $add_number (local.get $max))
        (call $add (i32.const 320) (i32.const 2))
        (call $add (i32.const 1088) (call $length (local.get $r) (i32.const 64)))
        (return (call $say (i32.const 2) (i32.const 336) (i32.const 15)))))
    (call $add (i32.const 352) (i32.const 16))
    (call $add_number (local.get $n))
    (local.set $r (call $get (i32.const 112) (i32.const 11) (i32.const 1152) (i32.const 64)))
    (if (i32.eqz (call $length (local.get $r) (i32.const 64)))
      (then (return (call $say (i32.const 1) (i32.const 368) (i32.const 8)))))
    (local.set $m (call $lun (i32.const 1152) (call $length (local.get $r) (i32.const 64)) (local.get $max)))
    (if (i32.eq (local.get $m) (i32.const -1))
      (then
        (global.set $len (i32.const 0))
        (call $add (i32.const 128) (i32.const 20))
        (return (call $say (i32.const 3) (i32.const 0) (i32.const 0)))))
    (if (i32.ne (local.get $m) (local.get $n))
      (then
        (call $add (i32.const 384) (i32.const 23))
        (call $add_number (local.get $m))
        (return (call $say (i32.const 0) (i32.const 416) (i32.const 8)))))
    (call $say (i32.const 1) (i32.const 368) (i32.const 8)))

  ;; The code is put together as a text, then moved out of the message's way.
  (func $failed (result i32)
    (local $r i64) (local $code i32)
    (local.set $r (call $get (i32.const 432) (i32.const 25) (i32.const 1280) (i32.const 48)))
    (if (call $length (local.get $r) (i32.const 48))
      (then
        (call $add (i32.const 1280) (call $length (local.get $r) (i32.const 48)))
        (call $add (i32.const 464) (i32.const 1))))
    (call $add (i32.const 480) (i32.const 12))
    (local.set $code (global.get $len))
    (local.set $r (call $get (i32.const 496) (i32.const 28) (i32.const 4096) (i32.const 4096)))
    (if (i32.and (i32.eq (call $type (local.get $r)) (i32.const 5)) (i32.le_u (i32.wrap_i64 (local.get $r)) (i32.const 4096)))
      (then
        (call $result (i32.const 2048) (local.get $code) (i32.const 4096) (i32.wrap_i64 (local.get $r)))
        (return (i32.const 2))))
    (call $result (i32.const 2048) (local.get $code) (i32.const 528) (i32.const 36))
    (i32.const 2))

  (func (export "dw_evaluate") (result i32)
    (local $r i64) (local $n i32)
    (local.set $r (call $get (i32.const 576) (i32.const 20) (i32.const 1024) (i32.const 32)))
    (local.set $n (call $length (local.get $r) (i32.const 32)))
    (if (i32.and (i32.gt_u (call $type (local.get $r)) (i32.const 1))
                 (i32.and (i32.eqz (local.get $n)) (i64.ne (local.get $r) (i64.const 0x500000000))))
      (then
        (call $add (i32.const 608) (i32.const 23))
        (return (call $say (i32.const 3) (i32.const 0) (i32.const 0)))))
    (if (i32.or
          (call $has (i32.const 640) (i32.const 67))
          (i32.or
            (i32.or (call $is (local.get $n) (i32.const 720) (i32.const 9)) (call $is (local.get $n) (i32.const 736) (i32.const 8)))
            (i32.or (call $is (local.get $n) (i32.const 752) (i32.const 16)) (call $is (local.get $n) (i32.const 768) (i32.const 18)))))
      (then
        (call $add (i32.const 800) (i32.const 10))
        (call $add (i32.const 1024) (local.get $n))
        (call $add (i32.const 816) (i32.const 29))
        (return (call $say (i32.const 2) (i32.const 848) (i32.const 23)))))
    (if (call $is (local.get $n) (i32.const 368) (i32.const 8)) (then (return (call $attached))))
    (if (call $is (local.get $n) (i32.const 880) (i32.const 16)) (then (return (call $failed))))
    (local.set $r (call $get (i32.const 160) (i32.const 41) (i32.const 1088) (i32.const 64)))
    (if (call $length (local.get $r) (i32.const 64))
      (then
        (call $add (i32.const 896) (i32.const 4))
        (call $add (i32.const 1088) (call $length (local.get $r) (i32.const 64)))
        (call $add (i32.const 912) (i32.const 35))
        (return (call $say (i32.const 0) (i32.const 960) (i32.const 9)))))
    (call $add (i32.const 800) (i32.const 10))
    (call $add (i32.const 1024) (local.get $n))
    (call $add (i32.const 976) (i32.const 22))
    (call $say (i32.const 0) (i32.const 1008) (i32.const 5))))
