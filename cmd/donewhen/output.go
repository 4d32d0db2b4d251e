package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// Formats of reports.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatJUnit = "junit"
)

// output is one place that a report goes to.
type output struct {
	format string
	file   string // empty: the standard output
}

// parseOutputs reads --output values: a format that the command has, or
// format=file. The standard output takes one format, text if no other asks for it.
func parseOutputs(values []string, first string, more ...string) ([]output, error) {
	formats := append([]string{first}, more...)
	var outputs []output
	standard := 0
	for _, value := range values {
		format, file, toFile := strings.Cut(value, "=")
		if !slices.Contains(formats, format) {
			last := len(formats) - 1
			return nil, fmt.Errorf("unknown output format %q; there are %s and %s, each with =FILE to write a file",
				format, strings.Join(formats[:last], ", "), formats[last])
		}
		if toFile && file == "" {
			return nil, fmt.Errorf("output %q names no file", value)
		}
		if !toFile {
			standard++
		}
		outputs = append(outputs, output{format: format, file: file})
	}
	switch {
	case standard > 1:
		return nil, errors.New("only one output format can go to the standard output; write the others to files with =FILE")
	case standard == 0:
		outputs = append(outputs, output{format: formatText})
	}
	return outputs, nil
}

// to calls write with the output's file, or with standard.
func (o output) to(standard io.Writer, write func(io.Writer) error) error {
	if o.file == "" {
		return write(standard)
	}
	file, err := os.Create(o.file)
	if err != nil {
		return fmt.Errorf("can't write the report: %w", err)
	}
	return errors.Join(write(file), file.Close())
}

// isTerminal reports whether a writer is a terminal that takes colours.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd()))
}
