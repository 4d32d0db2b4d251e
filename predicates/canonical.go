package predicates

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/donewhen/donewhen/predicates/internal/judge"
	"github.com/donewhen/donewhen/predicates/v1alpha1"
)

// predicateDigest identifies what a predicate says, however it is written: with
// defaults, short forms, spellings of codes and space around expressions made
// alike. Match, params and policies are in that form already.
func predicateDigest(p v1alpha1.Predicate) string {
	s := &p.Spec
	s.Variables = slices.Clone(s.Variables)
	for i := range s.Variables {
		s.Variables[i].Expression = strings.TrimSpace(s.Variables[i].Expression)
	}
	s.Aborted = canonicalRules(s.Aborted, codes.Aborted.String(), nil)
	s.Done = canonicalRules(s.Done, "", s.StableFor)
	s.Failed = canonicalRules(s.Failed, codes.Internal.String(), nil)
	s.Pending = canonicalRules(s.Pending, "", nil)
	if s.Wasm != nil {
		// What the module is counts, and not where. Its stableFor isn't in a rule.
		w := *s.Wasm
		w.Module = v1alpha1.Module{}
		s.Wasm = &w
	} else {
		s.StableFor = nil
	}
	return digest(p)
}

func canonicalRules(rules []v1alpha1.Rule, code string, hold *metav1.Duration) []v1alpha1.Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		r := &rules[i]
		for _, s := range []*string{&r.Expression, &r.CodeExpression, &r.ReasonExpression, &r.MessageExpression} {
			*s = strings.TrimSpace(*s)
		}
		if r.For == nil {
			r.For = hold
		}
		if r.Code == "" {
			r.Code = code
		}
		r.Code = canonicalCode(r.Code)
		for from, to := range r.CodeMap {
			if i := canonicalCode(to); i != to {
				r.CodeMap[from] = i
			}
		}
	}
	return rules
}

func canonicalCode(s string) string {
	if c, ok := judge.ParseCode(s); ok {
		return c.String()
	}
	return s
}

// digest returns the hash of a value's canonical JSON.
func digest(value any) string {
	sum := sha256.Sum256(canonical(value))
	return hex.EncodeToString(sum[:])
}

// canonical returns a value as JSON with sorted keys. It takes only what JSON has.
func canonical(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("predicates: %T is no JSON: %v", value, err))
	}
	return data
}
