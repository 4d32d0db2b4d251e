package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/utils/clock"

	"github.com/donewhen/donewhen/engine"
	"github.com/donewhen/donewhen/predicates/celexpr"
)

// How much a look at the waits shows, and costs.
const (
	maxWaits      = 1000 // of the list
	maxWaitText   = 300  // bytes of one text of the list
	maxExplained  = 100  // waits of an explanation
	maxExplainTxt = 8 << 10
	maxOverrides  = 20

	// waitsWithin is how long the waits are gone through, and how long a request waits
	// for its turn. It is far below the server's WriteTimeout.
	waitsWithin = 5 * time.Second
	// waitsAtOnce is how many requests are answered at once: each costs an evaluation
	// for each wait, and the memory of a page until its reader has it.
	waitsAtOnce = 2
)

// waitsPolicy has a browser load, run and send nothing. A sandbox would also forbid
// the page to refresh itself.
const waitsPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed waits.html
var waitsPage string

// waitLister is what is asked for the waits: an *engine.Engine.
type waitLister interface {
	Waiters() iter.Seq[engine.WaiterStatus]
	Blindness() []engine.Blindness
}

// waits serves the waits that run, oldest first, as JSON and as a page that refreshes
// itself. It shows what the errors of calls show, and is safe for concurrent use.
type waits struct {
	lister  waitLister
	inForce func() setInForce
	clock   clock.WithTicker
	page    *template.Template
	turn    chan struct{}
}

func newWaits(lister waitLister, inForce func() setInForce, clock clock.WithTicker) *waits {
	return &waits{
		lister: lister, inForce: inForce, clock: clock,
		page: template.Must(template.New("waits").Parse(waitsPage)), turn: make(chan struct{}, waitsAtOnce),
	}
}

// setInForce is what judges the waits. Its JSON field names are stable.
type setInForce struct {
	Digest string `json:"digest"`
	// Overrides are what isn't the driver's own, with versions.
	Overrides []string `json:"overrides"`
	// Problem is what keeps the sources from being read or loaded, on one line.
	Problem string `json:"problem,omitempty"`
}

// waitsView is the whole answer. Its JSON field names are stable.
type waitsView struct {
	Driver string     `json:"driver"`
	Set    setInForce `json:"set"`
	// Blind are the kinds that can't be seen now, and why.
	Blind []string `json:"blind"`
	// Total counts the waits that match, Waits has the oldest of them.
	Total int `json:"total"`
	// Incomplete says why not every wait has been looked at.
	Incomplete string `json:"incomplete,omitempty"`
	Waits      []wait `json:"waits"`

	Explaining string `json:"-"`
}

// wait is one of the waits.
type wait struct {
	Resource  string `json:"resource"`
	Object    string `json:"object"` // namespace/name
	UID       string `json:"uid,omitempty"`
	Operation string `json:"operation,omitempty"`
	Predicate string `json:"predicate"` // with its version
	Digest    string `json:"digest,omitempty"`
	// Writing: the caller is still writing and hasn't begun to wait.
	Writing bool      `json:"writing,omitempty"`
	Age     string    `json:"age"`
	Since   time.Time `json:"since"`
	Verdict string    `json:"verdict"`
	Cause   string    `json:"cause"`
	Code    string    `json:"code,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Missing []string  `json:"missing,omitempty"`
	// Explanation is what is still false, with values.
	Explanation string `json:"explanation,omitempty"`
	Rule        string `json:"rule,omitempty"`
	// ResourceVersion is the version judged last, JudgedAge how long ago it came.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	JudgedAge       string `json:"judgedAge,omitempty"`
	Blind           string `json:"blind,omitempty"`

	Link string `json:"-"`
}

// waitsQuery is what a request asks for.
type waitsQuery struct {
	object, operation string // empty: all
	json              bool
}

func parseWaitsQuery(r *http.Request) (waitsQuery, error) {
	values := r.URL.Query()
	for name := range values {
		if name != "explain" && name != "operation" && name != "output" {
			return waitsQuery{}, fmt.Errorf("unknown parameter %q: give explain=NAMESPACE/NAME, operation=NAME or output=json", celexpr.Shortened(name, maxWaitText))
		}
	}
	q := waitsQuery{object: values.Get("explain"), operation: values.Get("operation")}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	switch output := values.Get("output"); output {
	case "json":
		q.json = true
	case "html":
	case "":
		q.json = r.URL.Path == "/waits.json" || strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/html")
	default:
		return waitsQuery{}, fmt.Errorf("output is %q: give json or html", celexpr.Shortened(output, maxWaitText))
	}
	return q, nil
}

func (q waitsQuery) matches(s engine.WaiterStatus) bool {
	return (q.object == "" || q.object == objectOf(s.Ref)) && (q.operation == "" || q.operation == s.Operation)
}

func objectOf(ref engine.Reference) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

// ServeHTTP implements http.Handler.
func (h *waits) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", waitsPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Vary", "Accept")
	query, err := parseWaitsQuery(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !h.begin(r.Context()) {
		header.Set("Retry-After", "2")
		http.Error(w, "the waits are being listed for others; try again", http.StatusServiceUnavailable)
		return
	}
	defer func() { <-h.turn }()
	view := h.look(r.Context(), query)
	var body bytes.Buffer
	if query.json {
		header.Set("Content-Type", "application/json")
		encoder := json.NewEncoder(&body)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false) // it is read in terminals, and nosniff keeps it JSON
		err = encoder.Encode(view)
	} else {
		header.Set("Content-Type", "text/html; charset=utf-8")
		err = h.page.Execute(&body, view)
	}
	if err != nil {
		http.Error(w, "write the waits: "+err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(body.Bytes()) // the reader may have gone
}

// begin takes a turn; false if there is none in time.
func (h *waits) begin(ctx context.Context) bool {
	patience := h.clock.NewTimer(waitsWithin)
	defer patience.Stop()
	select {
	case h.turn <- struct{}{}:
		return true
	case <-patience.C():
	case <-ctx.Done():
	}
	return false
}

// seen is a wait with when it began.
type seen struct {
	status engine.WaiterStatus
	since  time.Time
}

func compareSeen(a, b seen) int {
	return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.status.Ref.String(), b.status.Ref.String()), cmp.Compare(a.status.Operation, b.status.Operation))
}

// look goes through the waits, and keeps the oldest.
func (h *waits) look(ctx context.Context, q waitsQuery) waitsView {
	most, text := maxWaits, maxWaitText
	if q.object != "" {
		most, text = maxExplained, maxExplainTxt
	}
	view := waitsView{Driver: version, Set: h.inForce(), Blind: []string{}, Waits: []wait{}, Explaining: plain(q.object, maxWaitText)}
	for n := range view.Set.Overrides {
		view.Set.Overrides[n] = plain(view.Set.Overrides[n], maxWaitText)
	}
	view.Set.Problem = plain(view.Set.Problem, 4*maxWaitText)
	for _, b := range h.lister.Blindness() {
		view.Blind = append(view.Blind, plain(b.String(), 2*maxWaitText))
	}
	start := h.clock.Now()
	var list []seen
	for status := range h.lister.Waiters() {
		now := h.clock.Now()
		if q.matches(status) {
			view.Total++
			list = append(list, seen{status, now.Add(-status.Age)})
		}
		if len(list) >= 2*most {
			list = oldest(list, most)
		}
		if ctx.Err() != nil || now.Sub(start) > waitsWithin {
			view.Incomplete = "not every wait could be looked at within " + waitsWithin.String() + ": there may be more, and older ones"
			break
		}
	}
	now := h.clock.Now()
	for _, s := range oldest(list, most) {
		view.Waits = append(view.Waits, showWait(s, now, text))
	}
	return view
}

// oldest returns the n oldest in order; the rest is let go.
func oldest(list []seen, n int) []seen {
	slices.SortFunc(list, compareSeen)
	if len(list) > n {
		clear(list[n:])
		list = list[:n]
	}
	return list
}

// showWait returns a wait with its texts cut to about n bytes.
func showWait(s seen, now time.Time, n int) wait {
	status, v := s.status, s.status.Verdict
	out := wait{
		Resource: plain(status.Ref.Resource.GroupResource().String(), n), Object: plain(objectOf(status.Ref), 2*n), UID: plain(string(status.Ref.UID), n),
		Operation: plain(status.Operation, n), Predicate: plain(status.Predicate.String(), n), Digest: plain(status.Predicate.Digest, n), Writing: !status.Waiting,
		Age: ago(now.Sub(s.since)), Since: s.since.UTC().Truncate(time.Millisecond),
		Verdict: v.Decision.String(), Cause: v.Cause.String(), Reason: plain(v.Reason, n), Message: plain(v.Message, n),
		Explanation: plain(v.Explanation, n), Rule: plain(v.Rule, n), ResourceVersion: plain(status.ResourceVersion, n),
	}
	if v.Decision == engine.Failed {
		out.Code = v.Code.String()
	}
	for i, missing := range v.Missing {
		if i == 10 {
			out.Missing = append(out.Missing, fmt.Sprintf("and %d more", len(v.Missing)-i))
			break
		}
		out.Missing = append(out.Missing, plain(missing, n/3))
	}
	if status.ResourceVersion != "" {
		out.JudgedAge = ago(status.Judged)
	}
	if status.Blind != nil {
		out.Blind = plain(status.Blind.String(), n)
	}
	link := url.Values{"explain": {objectOf(status.Ref)}, "output": {"html"}}
	if status.Operation != "" {
		link.Set("operation", status.Operation)
	}
	out.Link = "?" + link.Encode()
	return out
}

// plain cuts a text to about n bytes, and leaves nothing in it that acts on a terminal
// or changes the order of what is read.
func plain(s string, n int) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(celexpr.Shortened(s, n), "?"))
}

// ago rounds a duration to what a reader can use.
func ago(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// inForce returns what judges the waits, and what keeps the sources from it.
func (c *config) inForce() setInForce {
	set := c.store.Set()
	out := setInForce{Digest: set.Digest(), Overrides: c.overrides(set)}
	if more := len(out.Overrides) - maxOverrides; more > 0 {
		out.Overrides = append(out.Overrides[:maxOverrides], fmt.Sprintf("and %d more", more))
	}
	var all []error
	if refused, _ := c.refused.Load().(string); refused != "" {
		all = append(all, errors.New(refused))
	}
	for _, name := range namesOf(c.sources) {
		if err := c.readable.trouble(name); err != nil {
			all = append(all, fmt.Errorf("%s can't be read: %w", name, err))
		}
	}
	if len(all) > 0 {
		out.Problem = oneLine(errors.Join(all...))
	}
	return out
}

// refusal says on one line why the sources can't be loaded.
func refusal(serves string, problems []string) string {
	text := "the predicates can't be loaded, " + serves
	if len(problems) > 0 {
		text += ": " + problems[0]
	}
	if more := len(problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more problems, see the log)", more)
	}
	return text
}
