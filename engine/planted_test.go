//go:build soak

package engine_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fault is one that the random histories have to find: in the file, each text is
// replaced by the one after it.
type fault struct {
	name, file string
	texts      []string
}

var planted = []fault{
	{"revocation ignored", "judge.go", []string{
		"\ts := &p.seen\n\tpresence, uid",
		"\tif w.last.judgement != nil && w.last.judgement.Verdict.Decisive() {\n\t\treturn\n\t}\n\ts := &p.seen\n\tpresence, uid",
	}},
	{"floor off by one: the own write is below it", "barrier.go", []string{
		"\treturn v.to(b.floor)\n",
		"\tif order := v.to(b.floor); order != at {\n\t\treturn order\n\t}\n\treturn below\n",
	}},
	{"floor off by one: the version before is at it", "barrier.go", []string{
		"\treturn v.to(b.floor)\n",
		"\tif v.number+1 == b.floor.number {\n\t\treturn at\n\t}\n\treturn v.to(b.floor)\n",
	}},
	{"key read before version", "sighting.go", []string{
		"\tversion := store.LastStoreSyncResourceVersion()\n\titem, found, err := store.GetByKey(key)\n",
		"\titem, found, err := store.GetByKey(key)\n\tversion := store.LastStoreSyncResourceVersion()\n",
	}},
	{"tombstone dropped", "handler.go", []string{
		"if o := s.lookup(types.NamespacedName{Namespace: namespace, Name: name}); o != nil {",
		"if o := s.lookup(types.NamespacedName{Namespace: namespace, Name: name}); o != nil && false {",
	}},
	{"UID not compared", "barrier.go", []string{
		`other := b.pin != "" && s.uid != "" && s.uid != b.pin`, `other := false`,
	}},
	{"predecessor pinned", "barrier.go", []string{
		"if p == Present && b.looking {", "if p == Present {",
	}},
	{"namespace dropped", "index.go", []string{
		"maphash.String(x.seed, key.Namespace)*0x9e3779b97f4a7c15 ^ ", "",
		"s.hash == hash && s.object.key == key", "s.hash == hash && s.object.key.Name == key.Name",
	}},
	{"merge across a delete", "sighting.go", []string{
		" && s.uid == old.uid && s.present() == old.present()", "",
	}},
	{"unseen timer missing", "unseen.go", []string{
		"\tif s.unseenTimer == nil {\n\t\ts.unseenTimer = s.engine.afterFunc(unseenInterval, s.tick)\n\t}\n", "",
	}},
	// Beyond the nine that everybody thinks of.
	{"After forgets nothing", "waiter.go", []string{
		"\tw.barrier.after(version, uid)\n\tw.keepAfter()\n", "\tw.barrier.after(version, uid)\n",
	}},
	{"an evaluation under way survives After", "waiter.go", []string{
		"\tw.keepAfter()\n\tw.epoch++\n", "\tw.keepAfter()\n",
	}},
	{"a reload judges nothing anew", "reload.go", []string{
		"w.last.judgement, w.again = nil, w.last.valid", "w.last.judgement = nil",
	}},
	{"another UID in one update is no deletion", "handler.go", []string{
		`gone != "" && gone != seen.uid`, `gone != seen.uid && false`,
	}},
	{"a version judged is no floor", "barrier.go", []string{
		"b.floor, b.own = version.level(), false", "b.own = false",
	}},
	{"absence below the floor", "barrier.go", []string{
		"case order == below && absentInStore:", "case order == below && absentInStore && b.counts():\n\t\treturn Deleted, admitted\n\tcase order == below && absentInStore:",
	}},
	{"hold times pass while blind", "hold.go", []string{
		"len(w.extra.holds) > 0 && !w.object.source.isBlind()", "len(w.extra.holds) > 0",
	}},
	{"an unrelated change starts a hold time anew", "hold.go", []string{
		"r.since = old.since", "_ = old.since",
	}},
	{"the first list is not looked at", "source.go", []string{
		"\t\t\to.lookAgain()\n", "\t\t\t_ = o\n",
	}},
	{"leaving without a last look", "leave.go", []string{
		"\t\to.look = true\n", "",
	}},
}

// TestSoakPlantedFaults plants each fault in a build of its own, and has the random
// histories find it.
func TestSoakPlantedFaults(t *testing.T) {
	for _, fault := range planted {
		t.Run(fault.name, func(t *testing.T) {
			file, err := filepath.Abs(fault.file)
			must(t, err)
			source, err := os.ReadFile(file)
			must(t, err)
			other := string(source)
			for pair := range slices.Chunk(fault.texts, 2) {
				if n := strings.Count(other, pair[0]); n != 1 {
					t.Fatalf("%s holds the text that is replaced %d times: plant the fault in the code as it is now\n%s", fault.file, n, pair[0])
				}
				other = strings.Replace(other, pair[0], pair[1], 1)
			}
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, fault.file), []byte(other), 0o600))
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: filepath.Join(dir, fault.file)}})
			must(t, err)
			must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
			command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=0", "-overlay", filepath.Join(dir, "overlay.json"), "-run", "^TestRandom_", "-v", ".")
			command.Env = append(os.Environ(), "DONEWHEN_RUNS=1000000", "DONEWHEN_SEED=1")
			said, err := command.CombinedOutput()
			if err == nil {
				t.Fatalf("a million histories from seed 1 on did not find it")
			}
			found := regexp.MustCompile(`DONEWHEN_SEED=(\d+): .*`).FindStringSubmatch(string(said))
			if found == nil {
				t.Fatalf("it broke otherwise: %v\n%s", err, said)
			}
			t.Logf("found in history %s: %.200s", found[1], found[0])
		})
	}
}
