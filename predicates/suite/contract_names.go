package suite

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/donewhen/donewhen/engine"
)

// rowsFor returns the rows to judge a predicate by: those of the contract, and each
// that stands for itself under other names as well. A predicate that knows the
// contract's own names could behave for them alone. The other names are made of the
// predicate's digest: whoever writes them into the predicate changes them thereby,
// and every replica finds the same ones.
func (c *Contract) rowsFor(id engine.PredicateID) []contractRow {
	if len(c.names) == 0 {
		return c.rows
	}
	seed := sha256.Sum256([]byte(c.Operation + "\x00" + id.Digest))
	rename := c.renaming(seed)
	rows := c.rows[:len(c.rows):len(c.rows)]
	for _, row := range c.rows {
		if row.beside || row.presence != engine.Present {
			continue
		}
		other := row
		other.name, other.beside = row.name+", under other names", true
		other.because = "names, UIDs, versions and times say nothing of the operation"
		other.object, _ = renamed(row.object, rename).(map[string]any)
		identify(other.object, seed)
		other.params = engine.Params{}
		for name, value := range row.params {
			other.params[name] = renamed(value, rename)
		}
		rows = append(rows, other)
	}
	return rows
}

// renaming puts other names in place of the contract's.
func (c *Contract) renaming(seed [sha256.Size]byte) *strings.Replacer {
	var pairs []string
	for i, name := range c.names {
		sum := sha256.Sum256(append(seed[:], byte(i)))
		pairs = append(pairs, name, "n"+hex.EncodeToString(sum[:5]))
	}
	return strings.NewReplacer(pairs...)
}

// renamed returns a copy of the value with other names in all its texts.
func renamed(value any, rename *strings.Replacer) any {
	switch v := value.(type) {
	case string:
		return rename.Replace(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, field := range v {
			out[key] = renamed(field, rename)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = renamed(element, rename)
		}
		return out
	}
	return value
}

// identify gives an object another UID, version, generation and age.
func identify(object map[string]any, seed [sha256.Size]byte) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return
	}
	h := hex.EncodeToString(seed[:16])
	number := binary.BigEndian.Uint32(seed[16:])
	set := func(key string, value any) {
		if _, has := metadata[key]; has {
			metadata[key] = value
		}
	}
	set("uid", fmt.Sprintf("%s-%s-4%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:32]))
	set("resourceVersion", strconv.FormatUint(uint64(number)+1, 10))
	set("generation", int64(number%97+1))
	// Within thirty years from 2010 on, to the second.
	born := time.Unix(1_262_304_000+int64(number)%(30*365*24*3600), 0).UTC()
	set("creationTimestamp", born.Format(time.RFC3339))
}
