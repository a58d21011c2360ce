package words

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/store"
)

// Operators finds texts for operators in the policies that made the decisions. It reads
// each policy only once. It is not safe for concurrent use.
type Operators struct {
	// Policy reads a stored policy by its hash. It returns store.ErrNotFound if there is no
	// such policy.
	Policy func(ctx context.Context, hash string) (store.StoredPolicy, error)

	// known holds policies by hash. The value is nil if a policy is not stored as a policy
	// file.
	known map[string]*policy.Policy
}

// atFirst begins the texts of classes whose failures often end by themselves. A dead letter is a
// failure that did not.
const atFirst = "Nobody at first. If it goes on: "

// Acts returns the sentence that says who acts on a failure, and how. If the job is dead, it leaves out that nobody does
// at first. It is "" for an empty text.
func Acts(operator string, dead bool) string {
	if dead {
		operator = strings.TrimPrefix(operator, atFirst)
	}
	if operator == "" {
		return ""
	}
	return "Who acts: " + operator
}

// WhoActs returns the beginning of a text for operators, which names who must act, with a capital letter.
func WhoActs(operator string) string {
	text := strings.TrimPrefix(operator, atFirst)
	if end := strings.IndexAny(text, ":;."); end > 0 {
		text = text[:end]
	}
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Text says who must act on a failure, and how. The text comes from the policy that made
// the decision, otherwise from the built-in class. It is "" if the class has no such text.
func (o *Operators) Text(ctx context.Context, f *job.Failure) string {
	return o.ClassText(ctx, failure.Class(f.Class), f.Decision)
}

// ClassText is like Text for a failure of the given class, whose decision record may be nil.
func (o *Operators) ClassText(ctx context.Context, class failure.Class, decision []byte) string {
	if r, err := policy.ParseRecord(decision); err == nil {
		if p := o.policy(ctx, r.Hash); p != nil && slices.Contains(p.Classes(), class) {
			return p.Info(class).Operator
		}
	}
	if info, ok := failure.InfoOf(class); ok {
		return info.Operator
	}
	return ""
}

// policy returns the policy with the given hash if it is stored as a policy file, and otherwise
// nil.
func (o *Operators) policy(ctx context.Context, hash string) *policy.Policy {
	if p, known := o.known[hash]; known || hash == "" {
		return p
	}
	if o.known == nil {
		o.known = map[string]*policy.Policy{}
	}
	o.known[hash] = nil
	if stored, err := o.Policy(ctx, hash); err == nil {
		if f, err := policyfile.Parse(hash, stored.Body); err == nil {
			o.known[hash] = f.Policy
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		delete(o.known, hash) // After an error the policy is not remembered, so that the next failure tries to read it again.
	}
	return o.known[hash]
}
