// Package document reads YAML streams strictly and knows where everything stands:
// a stream becomes documents, a document a node tree, and the tree a Go value,
// with all that is wrong reported at once by line and column.
//
//	documents, findings := document.Read(text)
//	var binding v1alpha1.Binding
//	findings = documents[0].Decode(&binding)
//	line, column := documents[0].Position("spec", "params", "until")
//
// Beyond YAML's own rules it refuses what makes a document mean something else
// than it seems to: tags, anchors, aliases and merge keys, keys that aren't
// strings, duplicate keys, unknown fields and empty values.
package document
