// Package dw is what predicates for donewhen are written with in Go, version 1 of the
// contract. It needs neither reflection nor a scheduler, so that TinyGo compiles it.
//
//	package main
//
//	import dw "github.com/donewhen/donewhen/predicates/sdk/go"
//
//	func main() {} // never runs
//
//	//go:wasmexport dw_evaluate
//	func evaluate() dw.Verdict {
//		switch state, _ := dw.String("/object/status/state"); state {
//		case "":
//			return dw.Pending("NoStatus", "nobody has written a status yet")
//		case "Attached":
//			return dw.Done("Attached", "")
//		default:
//			return dw.Failed("Internal/BadState", "state is "+state)
//		}
//	}
//
// Fields are read by JSON Pointer. /object is the object, /params what the binding
// and the caller give, /settings what the predicate's document gives. A segment
// [key=value] is the first element of a list that has that string:
// /object/status/conditions/[type=Ready]/status. Escape writes a key that has a
// slash, such as that of a label.
//
// A guest may export dw_validate as well, which is asked once for each use, with
// nothing but /settings and the constants of /params there. It returns Accept or
// Refuse.
//
// The host puts memory back after every call, so that variables always have the
// value that they start with. A panic's text is shown in the verdict.
package dw

// Verdict is what dw_evaluate returns.
type Verdict int32

// Verdicts. The functions Pending and so on return these.
const (
	IsPending Verdict = iota
	IsDone
	IsFailed
	CantJudge
)

// Pending says that the object isn't there yet. Reason and message may be empty.
func Pending(reason, message string) Verdict { return say(IsPending, reason, message) }

// Done says that the object is as the operation wants it.
func Done(reason, message string) Verdict { return say(IsDone, reason, message) }

// Failed says that it won't get there. The code is "Code", "Reason" or "Code/Reason",
// of 64 bytes at most: "NotFound/DiskMissing". Without a gRPC code it is Internal.
func Failed(code, message string) Verdict { return say(IsFailed, code, message) }

// CannotJudge says that the object makes no sense; the predicate's failurePolicy
// decides.
func CannotJudge(message string) Verdict { return say(CantJudge, "", message) }

func say(v Verdict, code, message string) Verdict {
	hostResult(code, message)
	return v
}

// Answer is what dw_validate returns.
type Answer int32

// Accept accepts settings and params.
func Accept() Answer { return 1 }

// Refuse refuses settings or params.
func Refuse(why string) Answer {
	hostResult("", why)
	return 0
}

// Level is how much a line of the log matters.
type Level int32

// Levels of Log.
const (
	Debug Level = iota
	Info
	Warn
	Error
)

// Log writes a line to the log of the host.
func Log(level Level, text string) { hostLog(level, text) }
