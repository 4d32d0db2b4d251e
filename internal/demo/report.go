package demo

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// report writes what the run has shown to the output.
func (d *demo) report(took time.Duration, probe *probeResult, measured metrics) {
	out := d.opts.Out
	fmt.Fprintf(out, "%d volumes, %d at a time, in %s\n\n", d.opts.Volumes, d.opts.Parallel, short(took))
	writeCalls(out, d.stats, measured)
	fmt.Fprintln(out)
	writeEdit(out, d.opts.Namespace, probe, measured)
	fmt.Fprintln(out)
	writeRequests(out, d.stats, measured)
}

// grid is text in columns, one letter of align for each: l for left, r for right.
type grid struct {
	align string
	rows  [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) write(out io.Writer, indent string) {
	var widths []int
	for _, row := range g.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range g.rows {
		line := indent
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line += "  "
			}
			if g.align[i] == 'l' {
				line += cell + space
			} else {
				line += space + cell
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}

// writeCalls writes a line for each kind of call.
func writeCalls(out io.Writer, s *stats, measured metrics) {
	g := &grid{align: "lrrrrrrr"}
	g.add("call", "count", "failed", "p50", "p99", "engine p50", "engine p99", "engine's share")
	for _, call := range calls() {
		c := s.of(call)
		line := []string{call, strconv.Itoa(len(c.took)), strconv.Itoa(c.failed), short(percentile(c.took, 50)), short(percentile(c.took, 99))}
		h := measured.histogram(metricShare, map[string]string{"operation": call})
		if h.count == 0 {
			line = append(line, "-", "-", "-")
		} else {
			share := 0.0
			if mean := sum(c.took) / time.Duration(max(1, len(c.took))); mean > 0 {
				share = 100 * float64(h.sum) / float64(h.count) / float64(mean)
			}
			line = append(line, short(h.quantile(50)), short(h.quantile(99)), fmt.Sprintf("%.2f %%", share))
		}
		g.add(line...)
	}
	g.write(out, "")
	fmt.Fprintln(out, "The engine's share: from the delivery of the deciding event to the end of the wait, as the driver's histogram has it.")
}

// writeEdit tells what the edit of the ConfigMap changed.
func writeEdit(out io.Writer, namespace string, probe *probeResult, measured metrics) {
	fmt.Fprintf(out, "Half-way ConfigMap %s/%s was edited; the driver obeyed after %s, without a restart:\n", namespace, configMapName, short(probe.reload))
	for _, line := range diffLines(predicateYAML, editedPredicate()) {
		fmt.Fprintln(out, "  "+line)
	}
	fmt.Fprintln(out, "A call to expand a volume to the size that it has:")
	g := &grid{align: "lll"}
	g.add("before the edit", "state Created", "returned after "+short(probe.before))
	g.add("after the edit", "state Created", "still waited after "+short(probe.after))
	g.add("", "state Updated", "returned after "+short(probe.afterUpdated))
	g.write(out, "  ")
	if probe.explanation != "" {
		fmt.Fprintf(out, "  What the driver says of the one that still waited: %s\n", probe.explanation)
	}
	judged := slices.DeleteFunc(measured.samples(metricWaits), func(s sample) bool {
		return s.labels["operation"] != callExpand || s.labels["predicate"] == ""
	})
	slices.SortFunc(judged, byLabels("predicate", "version", "outcome"))
	fmt.Fprintf(out, "Expand calls by the predicate that ended them (those %d calls, and the growth of that volume, among them):\n", probeCalls)
	g = &grid{align: "llr"}
	for _, s := range judged {
		g.add(s.labels["predicate"]+" version "+s.labels["version"], s.labels["outcome"], fmt.Sprintf("%.0f", s.value))
	}
	g.write(out, "  ")
}

// writeRequests writes the driver's requests, and what other ways of waiting
// would have added to them.
func writeRequests(out io.Writer, s *stats, measured metrics) {
	requests := measured.samples(metricRequests)
	slices.SortFunc(requests, byLabels("resource", "verb"))
	fmt.Fprintln(out, "The driver's requests to the API server, from its start:")
	g := &grid{align: "llr"}
	for _, r := range requests {
		g.add(r.labels["verb"], r.labels["resource"], fmt.Sprintf("%.0f", r.value))
	}
	g.write(out, "  ")
	gets := measured.total(metricRequests, map[string]string{"verb": "GET"}) - measured.total(metricRequests, map[string]string{"verb": "GET", "resource": "discovery"}) -
		measured.total(metricRequests, map[string]string{"verb": "GET", "resource": "configmaps"}) // the report about the predicates
	conflicts, stages := measured.total(metricConflicts, nil), float64(len(s.of(callStage).took))
	fmt.Fprintf(out, "Of the %.0f GETs of objects %.0f came after a conflict (409), %.0f opened a %s, %.0f had other reasons.\n",
		gets, conflicts, stages, callStage, gets-conflicts-stages)
	waits, polled := 0, 0
	for _, call := range calls() {
		if call == callUnstage { // doesn't wait
			continue
		}
		took := s.of(call).took
		waits += len(took)
		polled += polls(took)
	}
	watches := measured.total(metricRequests, map[string]string{"verb": "WATCH"})
	fmt.Fprintf(out, "Requests for the sake of waiting, in the %d calls above that wait:\n", waits)
	g = &grid{align: "lrl"}
	g.add("donewhen", "0", "the "+strconv.Itoa(int(watches))+" watches of the informers serve them all")
	g.add("polling every second", strconv.Itoa(polled), "a GET for each second begun")
	g.add("a watch per object", strconv.Itoa(2*waits), "a LIST and a WATCH for each")
	g.write(out, "  ")
}

// byLabels compares samples by the values of these labels.
func byLabels(names ...string) func(a, b sample) int {
	return func(a, b sample) int {
		for _, name := range names {
			if c := cmp.Compare(a.labels[name], b.labels[name]); c != 0 {
				return c
			}
		}
		return 0
	}
}

// short is a duration with three digits that matter.
func short(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d < unit.size {
			continue
		}
		value := float64(d) / float64(unit.size)
		switch {
		case value < 9.995:
			return fmt.Sprintf("%.2f %s", value, unit.name)
		case value < 99.95:
			return fmt.Sprintf("%.1f %s", value, unit.name)
		}
		return fmt.Sprintf("%.0f %s", value, unit.name)
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

// lastFailure is the error of the last call of that method that the driver's log
// tells to have failed.
func lastFailure(log, method string) string {
	lines := strings.Split(log, "\n")
	for _, line := range slices.Backward(lines) {
		if !strings.Contains(line, `"Call failed"`) || !strings.Contains(line, strconv.Quote(method)) {
			continue
		}
		_, quoted, found := strings.Cut(line, " err=")
		if !found {
			continue
		}
		prefix, err := strconv.QuotedPrefix(quoted)
		if err != nil {
			continue
		}
		text, err := strconv.Unquote(prefix)
		if err != nil {
			continue
		}
		if _, rest, found := strings.Cut(text, "; "); found { // before it: which call it was
			text = rest
		}
		return text
	}
	return ""
}
