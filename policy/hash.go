package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/redrive/redrive/failure"
)

// contentHash names the contents of a Spec that is known to be valid. JSON writes
// the keys of maps in order, so the same contents have the same hash.
func contentHash(s *Spec) string {
	sum := sha256.Sum256(encode(s))
	return hex.EncodeToString(sum[:])
}

// Source returns the text of the policy, as it is kept beside the decisions that
// name its hash: that of its Spec, else the Spec as JSON.
func (p *Policy) Source() []byte {
	if p.spec.Source != nil {
		return p.spec.Source
	}
	return encode(&p.spec)
}

// encode writes what a valid Spec says as JSON.
func encode(s *Spec) []byte {
	type ruleText struct {
		RuleSpec
		When string // hides the condition, which is no data
	}
	type matchersText struct {
		failure.Rules
		Matchers []string // hides those in Go, which are known by name and version
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
		panic(fmt.Sprintf("policy: a valid spec could not be encoded: %v", err))
	}
	return b
}
