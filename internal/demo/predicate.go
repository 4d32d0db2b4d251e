package demo

import (
	_ "embed"
	"strings"
)

const (
	configMapName = "donewhen-predicates"
	reportName    = configMapName + "-status" // what the driver writes about it
	configMapKey  = "volume-expanded.yaml"

	predicateName = "volume-expanded"

	versionBefore = "1"
	versionAfter  = "2-updated"
)

// predicateYAML is the predicate that ends an expansion, as the ConfigMap has it
// at the start. It means what the driver's own one does.
//
//go:embed volume-expanded.yaml
var predicateYAML string

// The edit: the lines that go and those that come instead.
const (
	editVersion     = `  version: "` + versionBefore + `"`
	editVersionNew  = `  version: "` + versionAfter + `"`
	editDone        = "      object.status.detail.capacity_bytes >= params.requiredBytes\n"
	editDoneNew     = "      object.status.detail.capacity_bytes >= params.requiredBytes &&\n      object.status.state == 'Updated'\n"
	editDescription = "expand must also wait for status.state == 'Updated'"
)

// editedPredicate is the predicate after the edit.
func editedPredicate() string {
	return strings.NewReplacer(editVersion, editVersionNew, editDone, editDoneNew).Replace(predicateYAML)
}

// diffLines shows what differs between two texts of which one was edited: the
// lines from the first to the last difference, marked - and +. Equal lines
// between them are marked with a blank.
func diffLines(before, after string) []string {
	old, edited := strings.Split(before, "\n"), strings.Split(after, "\n")
	var lines []string
	i, j := 0, 0
	for i < len(old) || j < len(edited) {
		switch {
		case i < len(old) && j < len(edited) && old[i] == edited[j]:
			i, j = i+1, j+1
		case i < len(old) && !contains(edited[j:], old[i]):
			lines = append(lines, "- "+old[i])
			i++
		default:
			lines = append(lines, "+ "+edited[j])
			j++
		}
	}
	return lines
}

func contains(lines []string, line string) bool {
	for _, l := range lines {
		if l == line {
			return true
		}
	}
	return false
}
