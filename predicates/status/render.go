package status

import (
	"fmt"
	"strings"

	"github.com/donewhen/donewhen/predicates"
)

// Suffix is what a report's name has behind its ConfigMap's: see ReportName.
const Suffix = "-status"

// Keys of a report's data.
const (
	KeyConditions = "conditions" // a YAML list of {type, status, reason, message}
	KeySources    = "sources"    // digest of the content of all sources
	KeySet        = "set"        // digest of the set made of them, if one was
	KeyVersion    = "version"    // of the program, with what it was told about the gate
	KeyProblems   = "problems"   // each with its place and the line it stands on
	KeyWarnings   = "warnings"
)

// Reasons of conditions.
const (
	ReasonAccepted = "Accepted"
	ReasonInvalid  = "Invalid"     // this source can't be loaded
	ReasonRefused  = "Refused"     // the gate refuses the set
	ReasonOther    = "OtherSource" // the problems are those of another source
	ReasonLastGood = "LastGoodServes"
	ReasonUnread   = "Unread" // this source can't be read
)

// maxText bounds problems and warnings, so that the report fits into a ConfigMap.
const maxText = 200 << 10

// Condition is one condition of a report.
type Condition struct{ Type, Status, Reason, Message string }

// Conditions returns what a store's report means for one source: Accepted (can its
// content be loaded, and does the gate let it pass), Active (is it in force) and
// Degraded (does something else serve in its place).
func Conditions(r predicates.Report, source string) []Condition {
	if r.Err == nil {
		return []Condition{
			{"Accepted", "True", ReasonAccepted, "all documents can be loaded"},
			{"Active", "True", ReasonAccepted, "the set is in force"},
			{"Degraded", "False", ReasonAccepted, ""},
		}
	}
	own, others, refused := split(r, source)
	reason, message := ReasonInvalid, counted(len(own), "problem")
	switch {
	case len(own) == 0:
		reason, message = ReasonOther, counted(len(others), "problem")+" elsewhere: sources are loaded together, or not at all"
	case refused:
		reason, message = ReasonRefused, "the gate refuses the set: "+counted(len(own), "problem")
	}
	return []Condition{
		{"Accepted", "False", reason, message},
		{"Active", "False", ReasonLastGood, "the last good set stays in force, or the program's own if there was none"},
		{"Degraded", "True", reason, message},
	}
}

// unread are the conditions of a source for which what it held in the run before
// stands in.
func unread() []Condition {
	const message = "the ConfigMap can't be read: may this program list and watch it? What it held in the run before serves in its place"
	return []Condition{
		{"Accepted", "Unknown", ReasonUnread, message},
		{"Active", "False", ReasonUnread, message},
		{"Degraded", "True", ReasonUnread, message},
	}
}

// split parts a report's problems into those of the source and all others. What
// has no source is everybody's.
func split(r predicates.Report, source string) (own, others []string, refused bool) {
	load, ok := r.Err.(*predicates.LoadError)
	if !ok {
		return []string{r.Err.Error()}, nil, false
	}
	for _, p := range load.Problems {
		if p.Source == source || p.Source == "" {
			own = append(own, p.String())
		} else {
			others = append(others, p.String())
		}
	}
	return own, others, load.Refused
}

// Render returns the data of a source's report. It depends on nothing but the
// content of all sources, the version and the source's name.
func Render(r predicates.Report, source, version string) map[string]string {
	data := map[string]string{KeySources: r.Sources, KeyVersion: version}
	data[KeyConditions] = written(Conditions(r, source))
	if r.Err != nil {
		own, others, _ := split(r, source)
		data[KeyProblems] = text(append(own, others...))
		return data
	}
	data[KeySet] = r.Set.Digest()
	var warnings []string
	for _, w := range r.Warnings {
		if w.Source == source {
			warnings = append(warnings, w.String())
		}
	}
	if len(warnings) > 0 {
		data[KeyWarnings] = text(warnings)
	}
	return data
}

// written returns conditions as a report has them.
func written(conditions []Condition) string {
	var b strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&b, "- {type: %s, status: %q, reason: %s, message: %q}\n", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// text joins problems, as many as fit; the first one is always there, cut if need be:
// where it stands comes first.
func text(problems []string) string {
	var b strings.Builder
	for i, p := range problems {
		p = strings.ToValidUTF8(p, "�")
		if i == 0 {
			p = cut(p, maxText)
		}
		if b.Len()+len(p) > maxText {
			fmt.Fprintf(&b, "and %d more\n", len(problems)-i)
			break
		}
		b.WriteString(p + "\n")
	}
	return b.String()
}

// cut shortens a text to so many bytes, at a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n -= len("…"); n > 0 && s[n]&0xC0 == 0x80; n-- {
	}
	return s[:n] + "…"
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
