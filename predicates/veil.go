package predicates

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// veil hides values in what a module says. It finds them as they are, and as programs
// write them by habit: quoted, in JSON, in URLs, in base64 and in hex. What a module
// makes of a value otherwise, or says piece by piece, it can't find. The zero value
// hides nothing.
type veil struct {
	forms []string // the longest first
	hide  *strings.Replacer
}

// Shorter texts are in too many words to be hidden.
const (
	leastHidden = 3
	// leastBegun is how much of a value a text must end with to count as a value that
	// was cut off, where it isn't known that the text was cut.
	leastBegun = 8
)

// cutText is how long a text is that the host may have cut.
const cutText = 1_000

// newVeil returns a veil for what is in the values.
func newVeil(values ...any) veil {
	var forms []string
	for _, value := range values {
		forms = appendForms(forms, value)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	forms = slices.Compact(forms)
	if len(forms) == 0 {
		return veil{}
	}
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, "•••")
	}
	return veil{forms, strings.NewReplacer(pairs...)}
}

// appendForms appends what a value, or what is in it, is written as.
func appendForms(forms []string, value any) []string {
	switch v := value.(type) {
	case nil, bool: // which are in too many words
		return forms
	case map[string]any:
		for _, e := range v {
			forms = appendForms(forms, e)
		}
		return forms
	case []any:
		for _, e := range v {
			forms = appendForms(forms, e)
		}
		return forms
	}
	text := fmt.Sprint(value)
	if len(text) < leastHidden {
		return forms
	}
	quoted, ascii := strconv.Quote(text), strconv.QuoteToASCII(text)
	forms = append(forms, text, quoted[1:len(quoted)-1], ascii[1:len(ascii)-1], url.QueryEscape(text), url.PathEscape(text),
		base64.RawStdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)),
		hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))))
	var b strings.Builder
	for _, escape := range []bool{false, true} {
		b.Reset()
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		if err := e.Encode(text); err == nil {
			forms = append(forms, strings.Trim(b.String(), "\"\n"))
		}
	}
	return forms
}

// over returns the text with the values hidden, and with what it ends with if that is
// the beginning of one.
func (v *veil) over(text string) string {
	if v.hide == nil || text == "" {
		return text
	}
	least := leastBegun
	if len(text) >= cutText {
		least = leastHidden
	}
	text = v.hide.Replace(text)
	body := strings.TrimSuffix(text, "…")
	for _, form := range v.forms {
		for n := min(len(form)-1, len(body)); n >= least; n-- {
			if strings.HasSuffix(body, form[:n]) {
				return body[:len(body)-n] + "•••"
			}
		}
	}
	return text
}

// finds reports whether one of the values is in the text.
func (v *veil) finds(text string) bool { return v.hide != nil && v.hide.Replace(text) != text }
