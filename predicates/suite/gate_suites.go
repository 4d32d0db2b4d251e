package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/donewhen/donewhen/predicates"
)

// suites runs the suites that come with the config: with every source but the
// first, the program's own. The error says why it couldn't go on.
func (l *look) suites(ctx context.Context, sources []predicates.Source) error {
	for _, source := range sources[min(1, len(sources)):] {
		files := map[string]predicates.File{}
		for _, f := range source.Files {
			files[f.Name] = f
		}
		for _, file := range source.Files {
			if file.Binary || !suiteLine.Match(file.Data) {
				continue
			}
			if err := l.suitesOf(ctx, source.Name, file, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// suitesOf runs the suites in one file of a source.
func (l *look) suitesOf(ctx context.Context, source string, file predicates.File, files map[string]predicates.File) error {
	type parsed struct {
		suites []*Suite
		report *Report
	}
	in := func(list ...predicates.Problem) {
		for _, p := range list {
			p.Source = source
			l.add(p)
		}
	}
	l.at = predicates.Problem{Source: source, File: file.Name, Message: "the suites in this file"}
	read, err := timed(ctx, l.inAll, func(context.Context) parsed {
		read := &reader{source: source, files: files, beside: l.beside}
		suites, err := Parse(file, read.file)
		report := &Report{Problems: read.warnings(file.Name)} // after Parse has read
		report.add(err)
		return parsed{suites, report}
	})
	if err != nil {
		return err
	}
	in(read.report.Problems...)
	for _, s := range read.suites {
		for i, name := range s.Predicates {
			if _, ok := files[name]; !ok {
				in(s.missing(i, name, slices.Sorted(maps.Keys(files))))
			}
		}
	}
	for _, s := range read.suites {
		if err := l.suite(ctx, source, file, s, in); err != nil {
			return err
		}
	}
	return nil
}

// suite runs one suite. If a check can't be prepared, none of it runs.
func (l *look) suite(ctx context.Context, source string, file predicates.File, s *Suite, report func(...predicates.Problem)) error {
	type prepared struct {
		trial   *trial
		problem *predicates.Problem
	}
	var trials []*trial
	var problems []predicates.Problem
	for i := range s.checks {
		c := &s.checks[i]
		line, column := s.doc.Position(c.at...)
		l.at = s.problemAt(source, c.name, line, column)
		p, err := timed(ctx, l.perCase, func(context.Context) prepared {
			t, problem := l.runner.ready(l.set, s, c)
			return prepared{t, problem}
		})
		if err != nil {
			return err
		}
		if p.problem == nil {
			trials = append(trials, p.trial)
		} else if !slices.Contains(problems, *p.problem) {
			problems = append(problems, *p.problem)
		}
	}
	if report(problems...); len(problems) > 0 {
		return nil
	}
	for _, t := range trials {
		l.at = s.problemAt(source, t.result.Name, t.result.Line, t.result.Column)
		result, err := timed(ctx, l.perCase, func(ctx context.Context) CheckResult { return t.run(ctx, l.runner.clock) })
		if err != nil {
			return err
		}
		l.report.Checks++
		if !result.Passed() {
			report(result.problem(file))
		}
	}
	return nil
}

// problemAt is a problem with a case that comes without a message of its own.
func (s *Suite) problemAt(source, name string, line, column int) predicates.Problem {
	return predicates.Problem{
		Source: source, File: s.File, Line: line, Column: column, Document: "Suite " + s.Name,
		Message: fmt.Sprintf("suite case %q", name), Excerpt: s.doc.Excerpt(line, column),
	}
}
