package suite

import (
	"encoding/json"
	"io"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

type jsonReport struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Passed     int           `json:"passed"`
	Failed     int           `json:"failed"`
	Suites     []jsonSuite   `json:"suites"`
	Problems   []jsonProblem `json:"problems"`
}

type jsonSuite struct {
	Name   string      `json:"name"`
	File   string      `json:"file"`
	Passed int         `json:"passed"`
	Failed int         `json:"failed"`
	Checks []jsonCheck `json:"checks"`
}

type jsonCheck struct {
	Name        string      `json:"name"`
	Line        int         `json:"line"`
	Column      int         `json:"column"`
	Operation   string      `json:"operation,omitempty"`
	Predicate   string      `json:"predicate"`
	Digest      string      `json:"digest,omitempty"`
	Passed      bool        `json:"passed"`
	Want        jsonWant    `json:"want"`
	Got         jsonVerdict `json:"got"`
	Differences []string    `json:"differences,omitempty"`
	Trace       []string    `json:"trace,omitempty"` // of an events case that has failed
	Seconds     float64     `json:"seconds"`
}

// jsonWant is an expectation as suites write it.
type jsonWant struct {
	Verdict string  `json:"verdict,omitempty"`
	Code    *string `json:"code,omitempty"`
	Reason  *string `json:"reason,omitempty"`
	Message any     `json:"message,omitempty"`
	Cause   *string `json:"cause,omitempty"`
	For     *string `json:"for,omitempty"`
	Missing *string `json:"missing,omitempty"`

	Ended         *bool `json:"ended,omitempty"`
	Disagreements *int  `json:"disagreements,omitempty"`
}

type jsonVerdict struct {
	Verdict string   `json:"verdict"`
	Code    string   `json:"code,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Message string   `json:"message,omitempty"`
	Cause   string   `json:"cause"`
	For     string   `json:"for,omitempty"`
	Missing []string `json:"missing,omitempty"`
	Rule    string   `json:"rule,omitempty"`
}

type jsonProblem struct {
	Source   string `json:"source,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Document string `json:"document,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Excerpt  string `json:"excerpt,omitempty"`
}

// WriteJSON writes the whole report, problems included, as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	report := jsonReport{
		APIVersion: v1alpha1.APIVersion, Kind: "SuiteReport",
		Suites: []jsonSuite{}, Problems: []jsonProblem{},
	}
	report.Passed, report.Failed = r.Count()
	for i := range r.Suites {
		s := &r.Suites[i]
		suite := jsonSuite{Name: s.Name, File: s.File, Checks: []jsonCheck{}}
		suite.Passed, suite.Failed = s.Count()
		for j := range s.Checks {
			suite.Checks = append(suite.Checks, jsonOf(&s.Checks[j]))
		}
		report.Suites = append(report.Suites, suite)
	}
	for _, p := range r.Problems {
		report.Problems = append(report.Problems, jsonOfProblem(p))
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

func jsonOf(c *CheckResult) jsonCheck {
	got := jsonVerdict{
		Verdict: c.Verdict.Decision.String(), Reason: c.Verdict.Reason, Message: c.Verdict.Message,
		Cause: c.Verdict.Cause.String(), Missing: c.Verdict.Missing, Rule: c.Verdict.Rule,
	}
	if c.Verdict.Decision == engine.Failed {
		got.Code = c.Verdict.Code.String()
	}
	if c.For != 0 {
		got.For = c.For.String()
	}
	var trace []string
	if !c.Passed() {
		trace = c.Trace
	}
	return jsonCheck{
		Trace: trace, Name: c.Name, Line: c.Line, Column: c.Column, Operation: c.Operation,
		Predicate: c.Predicate.Name, Digest: c.Predicate.Digest, Passed: c.Passed(),
		Want: jsonOfWant(c.Want), Got: got, Differences: c.Differences, Seconds: c.Elapsed.Seconds(),
	}
}

func jsonOfWant(e *Expectation) jsonWant {
	want := jsonWant{Verdict: e.Decision.String(), Reason: e.Reason, Missing: e.Missing, Ended: e.Ended, Disagreements: e.Disagreements}
	if e.Any {
		want.Verdict = ""
	}
	if e.Code != nil {
		want.Code = new(e.Code.String())
	}
	if e.Cause != nil {
		want.Cause = new(e.Cause.String())
	}
	switch {
	case e.For == nil:
	case *e.For == 0:
		want.For = new("")
	default:
		want.For = new(e.For.String())
	}
	switch m := e.Message; {
	case m == nil:
	case m.Equals != nil:
		want.Message = map[string]string{"equals": *m.Equals}
	case m.Matches != nil:
		want.Message = map[string]string{"matches": m.Matches.String()}
	default:
		want.Message = *m.Contains
	}
	return want
}

func jsonOfProblem(p predicates.Problem) jsonProblem {
	return jsonProblem{
		Source: p.Source, File: p.File, Line: p.Line, Column: p.Column,
		Document: p.Document, Message: p.Message, Hint: p.Hint, Excerpt: p.Excerpt,
	}
}
