// Command go is a guest: whether a disk is attached, with a LUN that a node can use.
// See ../README.md.
package main

import (
	"strconv"
	"strings"

	dw "github.com/donewhen/donewhen/predicates/sdk/go"
)

const (
	statePath  = "/object/status/state"
	detachPath = "/object/status/annotation/disk.csi.azure.com~1volume-detach-request"
	lunPath    = "/object/status/detail/publish_context/LUN"
	defaultMax = 63
)

func main() {}

//go:wasmexport dw_validate
func validate() dw.Answer {
	limit := int64(defaultMax)
	if dw.Has("/settings/maxLUN") {
		n, ok := dw.Int("/settings/maxLUN")
		if !ok || n < 0 || n > 255 {
			return dw.Refuse("settings.maxLUN must be an integer from 0 to 255")
		}
		limit = n
	}
	if want, ok := dw.String("/params/lun"); ok && want != "" {
		_, ok = lun(want, limit)
		if !ok {
			return dw.Refuse("params.lun is no LUN")
		}
	} else if !ok && dw.Has("/params/lun") {
		return dw.Refuse("params.lun is no LUN")
	}
	return dw.Accept()
}

//go:wasmexport dw_evaluate
func evaluate() dw.Verdict {
	state, ok := dw.String(statePath)
	if !ok && dw.Has(statePath) {
		return dw.CannotJudge("status.state is no word")
	}
	leaving := dw.Has(detachPath)
	switch state {
	case "Detaching", "Detached", "DetachmentFailed", "ForceDetachPending":
		leaving = true
	}
	switch {
	case leaving:
		return dw.Failed("Aborted/DetachRequested", `state is "`+state+`", the disk is being detached`)
	case state == "Attached":
		return attached()
	case state == "AttachmentFailed":
		return attachFailed()
	}
	if is, _ := dw.String(lunPath); is != "" {
		return dw.Pending("Attaching", "LUN "+is+" is promised, the attach is running")
	}
	return dw.Pending("NoLUN", `state is "`+state+`", there is no LUN yet`)
}

func attached() dw.Verdict {
	limit, ok := dw.Int("/settings/maxLUN")
	if !ok {
		limit = defaultMax
	}
	is, ok := dw.String(lunPath)
	if is == "" && (ok || !dw.Has(lunPath)) {
		return dw.Failed("Internal/LUNMissing", "the attachment is complete but has no LUN")
	}
	n, ok := lun(is, limit)
	if !ok {
		return dw.Failed("Internal/BadLUN", "no LUN from 0 to "+strconv.FormatInt(limit, 10)+": "+is)
	}
	text := "attached at LUN " + strconv.FormatInt(n, 10)
	want, _ := dw.String("/params/lun")
	if want == "" {
		return dw.Done("Attached", text)
	}
	switch m, ok := lun(want, limit); {
	case !ok:
		return dw.CannotJudge("params.lun is no LUN")
	case m != n:
		return dw.Pending("OtherLUN", text+", Publish returned LUN "+strconv.FormatInt(m, 10))
	}
	return dw.Done("Attached", text)
}

func attachFailed() dw.Verdict {
	code := "AttachFailed"
	if given, _ := dw.String("/object/status/error/code"); given != "" && len(given) <= 48 {
		code = given + "/" + code
	}
	message, ok := dw.String("/object/status/error/message")
	if !ok {
		message = "attach failed, no error was recorded"
	}
	return dw.Failed(code, message)
}

// lun reads a LUN: a number, or a path such as /dev/disk/azure/scsi1/lun3.
func lun(s string, limit int64) (int64, bool) {
	host, ok := strings.CutPrefix(s, "/dev/disk/azure/scsi")
	if !ok {
		return number(s, limit)
	}
	rest := strings.TrimLeft(host, "0123456789")
	digits, ok := strings.CutPrefix(rest, "/lun")
	if !ok || rest == host {
		return 0, false
	}
	return number(digits, limit)
}

// number reads the digits of a LUN from 0 to limit.
func number(s string, limit int64) (int64, bool) {
	if s == "" || len(s) > 3 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n := int64(0)
	for _, b := range []byte(s) {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = 10*n + int64(b-'0')
	}
	return n, n <= limit
}
