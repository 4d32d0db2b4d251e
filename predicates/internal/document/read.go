package document

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of what is read. They keep a hostile file from costing much; no file
// that people write comes near.
const (
	MaxBytes     = 1 << 20 // of one file; a ConfigMap holds no more
	MaxDocuments = 5000    // in one file
	MaxDepth     = 64      // of nested mappings and sequences
)

// Finding is one thing that is wrong, at a line and column counted from 1;
// columns count characters.
type Finding struct {
	Line, Column  int
	Message, Hint string
}

// Document is one document of a stream. It is immutable.
type Document struct {
	// APIVersion, Kind and Name are what the document says of itself, before
	// anything is checked; empty where it doesn't.
	APIVersion, Kind, Name string
	// Line is where its content starts.
	Line int

	text  *Text
	root  *yaml.Node
	forms *forms
}

// Reader reads texts; what it learns of Go types by decoding one document serves for
// all others. It is safe for concurrent use.
type Reader struct{ forms forms }

// NewReader returns a reader.
func NewReader() *Reader { return &Reader{} }

// Read is NewReader().Read, for who reads one text.
func Read(t *Text) ([]*Document, []Finding) { return NewReader().Read(t) }

// Read splits the text into documents; empty ones are left out. A document that
// isn't YAML at all is a finding and doesn't keep the others from being read.
func (r *Reader) Read(t *Text) ([]*Document, []Finding) {
	switch {
	case len(t.data) > MaxBytes:
		return nil, []Finding{{1, 1, fmt.Sprintf("the file has %d bytes, %d are allowed", len(t.data), MaxBytes), "split it into several files"}}
	case !utf8.ValidString(t.data):
		line, column := invalidUTF8(t)
		return nil, []Finding{{line, column, "the file isn't valid UTF-8 here", "save it as UTF-8"}}
	}
	var documents []*Document
	var findings []Finding
	for _, c := range split(t) {
		if len(documents) == MaxDocuments {
			findings = append(findings, Finding{c.first, 1, fmt.Sprintf("more than %d documents in one file", MaxDocuments), "split it into several files"})
			break
		}
		root, finding := c.parse(t)
		if finding != nil {
			findings = append(findings, *finding)
			continue
		}
		if root == nil || root.Kind == yaml.ScalarNode && root.Tag == "!!null" && root.Value == "" {
			continue
		}
		d := &Document{Line: root.Line, text: t, root: root, forms: &r.forms}
		d.APIVersion, d.Kind, d.Name = d.str("apiVersion"), d.str("kind"), d.str("metadata", "name")
		documents = append(documents, d)
	}
	return documents, findings
}

func invalidUTF8(t *Text) (line, column int) {
	for n := 1; n <= t.lines(); n++ {
		column = 1
		for s := t.data[t.offset(n):t.offset(n+1)]; s != ""; column++ {
			r, size := utf8.DecodeRuneInString(s)
			if r == utf8.RuneError && size <= 1 {
				return n, column
			}
			s = s[size:]
		}
	}
	return 1, 1
}

// chunk is a range of lines, the last one not included, that holds one document.
type chunk struct{ first, end int }

// split cuts at the lines that begin with --- or ..., which YAML allows nowhere
// inside a document. Reading each by itself keeps a broken one from hiding the
// errors of the others.
func split(t *Text) []chunk {
	var chunks []chunk
	first := 1
	flush := func(end int) {
		for n := first; n < end; n++ {
			s := strings.TrimSpace(t.line(n))
			if s != "" && s != "---" && s[0] != '#' {
				chunks = append(chunks, chunk{first, end})
				return
			}
		}
	}
	for n := 1; n <= t.lines(); n++ {
		switch l := t.line(n); {
		case marker(l, "---"):
			flush(n)
			first = n
		case marker(l, "..."):
			flush(n)
			first = n + 1
		}
	}
	flush(t.lines() + 1)
	return chunks
}

func marker(line, mark string) bool {
	rest, ok := strings.CutPrefix(line, mark)
	return ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// parse returns the root of the chunk's node tree with lines counted in the
// file, nil if the document is empty.
func (c chunk) parse(t *Text) (*yaml.Node, *Finding) {
	for n := c.first; n < c.end; n++ {
		s := t.line(n)
		if strings.HasPrefix(s, "%") {
			return nil, &Finding{n, 1, "YAML directives aren't supported", "remove the line"}
		}
		if s = strings.TrimSpace(s); s != "" && s[0] != '#' {
			break
		}
	}
	root, err := parse(t.data[t.offset(c.first):t.offset(c.end)])
	if err != nil {
		f := c.locate(t, err)
		return nil, &f
	}
	if root != nil {
		shift(root, c.first-1)
	}
	return root, nil
}

func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, child := range n.Content {
		shift(child, lines)
	}
}

// parse returns the root node of a text with one document, nil if it is empty.
func parse(s string) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML reader can't read this: %v", r)
		}
	}()
	decoder := yaml.NewDecoder(strings.NewReader(s))
	var n, more yaml.Node
	if err := decoder.Decode(&n); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	if err := decoder.Decode(&more); err == nil {
		return nil, fmt.Errorf("yaml: content after the end of the document")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(n.Content) == 0 {
		return nil, nil
	}
	return n.Content[0], nil
}
