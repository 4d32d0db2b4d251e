package suite

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitReport struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	File     string      `xml:"file,attr,omitempty"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	File    string       `xml:"file,attr,omitempty"`
	Line    int          `xml:"line,attr,omitempty"`
	Time    string       `xml:"time,attr"`
	Failure *junitDetail `xml:"failure"`
	Error   *junitDetail `xml:"error"`
}

type junitDetail struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML. What kept suites from running is an
// error in a test suite of its own, so that nobody takes the rest for the whole.
func (r *Report) WriteJUnit(w io.Writer) error {
	report := junitReport{Name: "donewhen"}
	total := 0.0
	for i := range r.Suites {
		s := &r.Suites[i]
		suite := junitSuite{Name: s.Name, File: s.File, Tests: len(s.Checks)}
		_, suite.Failures = s.Count()
		spent := 0.0
		for j := range s.Checks {
			c := &s.Checks[j]
			spent += c.Elapsed.Seconds()
			suite.Cases = append(suite.Cases, junitOf(c))
		}
		suite.Time = seconds(spent)
		total += spent
		report.Suites = append(report.Suites, suite)
	}
	if n := len(r.Problems); n > 0 {
		suite := junitSuite{Name: "load", Tests: n, Errors: n, Time: seconds(0)}
		for i, p := range r.Problems {
			suite.Cases = append(suite.Cases, junitCase{
				Class: "load", Name: fmt.Sprintf("%d %s", i+1, p.Origin()), File: p.File, Line: p.Line, Time: seconds(0),
				Error: &junitDetail{Message: p.Message, Text: p.String()},
			})
		}
		report.Suites = append(report.Suites, suite)
	}
	for _, s := range report.Suites {
		report.Tests, report.Failures, report.Errors = report.Tests+s.Tests, report.Failures+s.Failures, report.Errors+s.Errors
	}
	report.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitOf(c *CheckResult) junitCase {
	result := junitCase{Class: c.Suite, Name: c.Name, File: c.File, Line: c.Line, Time: seconds(c.Elapsed.Seconds())}
	if !c.Passed() {
		var text strings.Builder
		writeFailure(&text, c)
		result.Failure = &junitDetail{Message: strings.Join(c.Differences, "; "), Text: text.String()}
	}
	return result
}

func seconds(s float64) string { return fmt.Sprintf("%.6f", s) }
