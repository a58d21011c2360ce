package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/redrive/redrive/classify"
)

// contentHash returns a hash of the contents of a valid Spec. Equal contents have equal
// hashes, because JSON sorts the keys of maps.
func contentHash(s *Spec) string {
	sum := sha256.Sum256(encode(s))
	return hex.EncodeToString(sum[:])
}

// Source returns the text of the policy. The text is stored with the decisions that contain
// the policy's hash. It is Spec.Source or, if that is nil, the Spec as JSON.
func (p *Policy) Source() []byte {
	if p.spec.Source != nil {
		return p.spec.Source
	}
	return encode(&p.spec)
}

// encode returns a valid Spec as JSON.
func encode(s *Spec) []byte {
	type ruleText struct {
		RuleSpec
		When string // this field replaces the compiled condition, which is not data
	}
	type matchersText struct {
		classify.Rules
		Matchers []string // this field replaces the matchers written in Go; only their names and versions are data
	}
	hashed := struct {
		Spec
		Classify matchersText
		Rules    []ruleText
	}{Spec: *s, Classify: matchersText{s.Classify, matcherNames(&s.Classify)}}
	for _, r := range s.Rules {
		text := ruleText{RuleSpec: r}
		if r.When != nil {
			text.When = r.When.String()
		}
		hashed.Rules = append(hashed.Rules, text)
	}
	b, err := json.Marshal(hashed)
	if err != nil {
		panic(fmt.Sprintf("policy: a valid spec cannot be encoded: %v", err))
	}
	return b
}
