// Package explain is what a predicate says about why its verdict is what it is:
// the policies and rules in judging order, every sub-expression with its value,
// and for macros the elements that decided. It is data, with a form for people
// and one for machines; package predicates makes it.
//
//	explanation, err := predicate.Explain(ctx, observation, params)
//	explanation.WriteText(os.Stdout) // a tree
//	json.NewEncoder(os.Stdout).Encode(explanation)
//
// Values are text as expressions write them, cut where they are long, and "•••"
// where they must not be shown.
package explain

// Outcome is what became of an expression, rule or policy.
type Outcome string

const (
	// True and False are values of conditions.
	True  Outcome = "true"
	False Outcome = "false"
	// Value is any other value.
	Value Outcome = "value"
	// Missing: data wasn't there.
	Missing Outcome = "missing"
	// Error: it could not be evaluated.
	Error Outcome = "error"
	// Skipped: it was not looked at, as something before it had decided.
	Skipped Outcome = "skipped"
	// Holding: a rule is true, but must be so for a time.
	Holding Outcome = "holding"
)

// Explanation is why one observation got its verdict. Its JSON field names are
// stable.
type Explanation struct {
	Predicate Predicate `json:"predicate"`
	Object    *Object   `json:"object,omitempty"`
	Verdict   Verdict   `json:"verdict"`
	// Policies are what is looked at before the rules, in that order.
	Policies []Policy `json:"policies"`
	// Rules are in the order of judging: aborted, done, failed, pending.
	Rules []Rule `json:"rules"`
	// Variables are those that the rules used, in the order of their declaration.
	Variables []Variable `json:"variables,omitempty"`
	Params    []Param    `json:"params,omitempty"`
	Cost      *Cost      `json:"cost,omitempty"`
}

// Predicate names a predicate.
type Predicate struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// Object names what was judged.
type Object struct {
	APIVersion      string `json:"apiVersion"`
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Absent is "never" or "deleted" where there is no object.
	Absent string `json:"absent,omitempty"`
}

// Verdict is the verdict that is explained.
type Verdict struct {
	Verdict string   `json:"verdict"` // Pending, Done or Failed
	Code    string   `json:"code,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Message string   `json:"message,omitempty"`
	Cause   string   `json:"cause"` // Operation or Judge
	For     string   `json:"for,omitempty"`
	Missing []string `json:"missing,omitempty"`
	Rule    string   `json:"rule,omitempty"`
	// Explanation is what of a pending verdict was still false, with values.
	Explanation string `json:"explanation,omitempty"`
}

// Policy is one of absence, onTerminating and observedGeneration.
type Policy struct {
	Name string `json:"name"`
	// Decided: it gave the verdict, and no rule was looked at.
	Decided bool `json:"decided"`
	// Says is what it found, in words.
	Says string `json:"says"`
}

// Rule is one rule of the predicate and what came of it.
type Rule struct {
	// Name is its place in the document: "done[0]".
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	// Decided: the verdict is this rule's.
	Decided bool `json:"decided,omitempty"`
	// For is how long it must hold.
	For string `json:"for,omitempty"`
	// Note says what was missing or went wrong, or why it was skipped.
	Note string `json:"note,omitempty"`
	// Condition is its expression; nil if it has none or was skipped.
	Condition *Node `json:"condition,omitempty"`
	// Cost is what evaluating it cost, in CEL's units; 0 where it isn't counted.
	Cost uint64 `json:"cost,omitempty"`
}

// Variable is a variable of the predicate.
type Variable struct {
	Name  string `json:"name"`
	Value *Node  `json:"value"`
}

// Param is a param with its value.
type Param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Cost is what judging cost. Only expressions that loop, match or grow texts are
// counted; the others are bounded by their length.
type Cost struct {
	Spent uint64 `json:"spent"`
	Limit uint64 `json:"limit"`
}

// Node is an expression and what became of it.
type Node struct {
	Expression string  `json:"expression"`
	Outcome    Outcome `json:"outcome"`
	// Value is the value of an expression that isn't a condition.
	Value string `json:"value,omitempty"`
	// Note says what was missing or went wrong.
	Note string `json:"note,omitempty"`
	// Operator is "&&", "||", "!", "?:", or the name of a macro or function.
	Operator string `json:"operator,omitempty"`
	// Decides: the expression around this one is what it is because of it.
	Decides bool `json:"decides,omitempty"`
	// Operands are its parts, without literals.
	Operands []*Node `json:"operands,omitempty"`
	// Elements are what a macro looked at.
	Elements *Elements `json:"elements,omitempty"`
}

// Elements are the elements of the list or map that a macro went over.
type Elements struct {
	// Count is how many there are; True, False and Failed how many of them met the
	// condition, didn't, or could not be evaluated.
	Count  int `json:"count"`
	True   int `json:"true"`
	False  int `json:"false"`
	Failed int `json:"failed"`
	// Shown are the first of those that decided.
	Shown []Element `json:"shown,omitempty"`
	// More is how many others decided as the shown ones did.
	More int `json:"more,omitempty"`
	// Hidden: the elements, or what they were compared with, must not be shown.
	Hidden bool `json:"hidden,omitempty"`
}

// Element is one element.
type Element struct {
	// Index is its place in a list, or Key its key in a map.
	Index *int   `json:"index,omitempty"`
	Key   string `json:"key,omitempty"`
	// Body is what the macro evaluated for it.
	Body *Node `json:"body"`
}
