package suite

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/donewhen/donewhen/engine"
)

// TextOptions change how a report reads.
type TextOptions struct {
	// Color marks PASS and FAIL with terminal colours.
	Color bool
	// Quiet leaves out what has passed.
	Quiet bool
}

// WriteText writes the report for people: one line per check, more for those that
// failed, the counts at the end. Problems are for the caller to print.
func (r *Report) WriteText(w io.Writer, options TextOptions) error {
	out := bufio.NewWriter(w)
	for i := range r.Suites {
		s := &r.Suites[i]
		_, failed := s.Count()
		if options.Quiet && failed == 0 {
			continue
		}
		fmt.Fprintf(out, "%s (%s)\n", s.Name, s.File)
		if len(s.Checks) == 0 {
			fmt.Fprintln(out, "  has no cases")
		}
		for j := range s.Checks {
			c := &s.Checks[j]
			switch {
			case !c.Passed():
				fmt.Fprintf(out, "  %s  %s\n", options.colored("31", "FAIL"), c.Name)
				writeFailure(out, c)
			case !options.Quiet:
				fmt.Fprintf(out, "  %s  %s: %s\n", options.colored("32", "PASS"), c.Name, summary(c))
			}
		}
	}
	if len(r.Suites) > 0 || len(r.Problems) == 0 {
		fmt.Fprintln(out, r.counts())
	}
	return out.Flush()
}

func (r *Report) counts() string {
	passed, failed := r.Count()
	return fmt.Sprintf("%s in %s: %d passed, %d failed",
		count(passed+failed, "check"), count(len(r.Suites), "suite"), passed, failed)
}

// Summary returns the counts on one line, of problems too.
func (r *Report) Summary() string {
	text := r.counts()
	if n := len(r.Problems); n > 0 {
		text += ", " + count(n, "problem") + " kept suites from running"
	}
	return text
}

func (o TextOptions) colored(code, word string) string {
	if !o.Color {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

func writeFailure(w io.Writer, c *CheckResult) {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "        %-8s %s\n", label, indent(fmt.Sprintf(format, args...)))
	}
	line("at", "%s:%d:%d", c.File, c.Line, c.Column)
	by := c.Predicate.String()
	if c.Operation != "" {
		by += ", bound to " + c.Operation
	}
	if c.Verdict.Rule != "" {
		by += ", rule " + c.Verdict.Rule
	}
	line("by", "%s", by)
	line("want", "%s", c.Want)
	line("got", "%s", summary(c))
	if c.Verdict.Message != "" {
		line("message", "%s", c.Verdict.Message)
	}
	if len(c.Verdict.Missing) > 0 {
		line("missing", "%s", strings.Join(c.Verdict.Missing, "; "))
	}
	// What was wanted and got stands above: the names of what differs are enough.
	var fields []string
	for _, difference := range c.Differences {
		if field, _, ok := strings.Cut(difference, ": want "); ok {
			fields = append(fields, field)
		} else {
			line("wrong", "%s", difference)
		}
	}
	if len(fields) > 0 {
		line("differs", "%s", strings.Join(fields, ", "))
	}
	for i, step := range c.Trace {
		label := ""
		if i == 0 {
			label = "trace"
		}
		line(label, "%2d  %s", i+1, step)
	}
}

// summary returns what the verdict is, without its texts.
func summary(c *CheckResult) string {
	parts := []string{c.Verdict.Decision.String()}
	if c.Verdict.Decision == engine.Failed {
		parts = append(parts, "code "+c.Verdict.Code.String())
	}
	if c.Verdict.Reason != "" {
		parts = append(parts, "reason "+c.Verdict.Reason)
	}
	if c.Verdict.Cause != engine.CauseOperation {
		parts = append(parts, "cause "+c.Verdict.Cause.String())
	}
	if c.For != 0 {
		parts = append(parts, "for "+c.For.String())
	}
	return strings.Join(parts, ", ")
}

func indent(text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 17))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
