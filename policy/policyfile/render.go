package policyfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy"
)

// Render writes a Spec as a policy file with comments. Parse reads the same Spec from it.
// Matchers written in Go cannot be in a file, so a comment names them.
func Render(s *policy.Spec) []byte {
	doc := document(s)
	var e emitter
	for _, m := range s.Classify.Matchers {
		e.comment("Without the matcher "+m.Name+" "+m.Version+", which is written in Go.", "")
	}
	e.mapping(doc.items, "")
	return []byte(e.String())
}

// hashVersion is the beginning of the hashed text. Change it when the rendering changes, so
// that the hashes change too.
const hashVersion = "redrive policy 1\n"

// Hash returns 64 hexadecimal digits that identify the contents of a Spec. The hash does
// not depend on comments, the order of keys or the layout of the file.
func Hash(s *policy.Spec) string {
	sum := sha256.Sum256(canonical(s))
	return hex.EncodeToString(sum[:])
}

// canonical returns the text that is hashed. Equal Specs have equal texts.
func canonical(s *policy.Spec) []byte {
	doc := document(s)
	matchers := list("matchers")
	for _, m := range s.Classify.Matchers {
		matchers.add(list("", text(m.Name), text(m.Version)))
	}
	if doc.add(matchers); len(matchers.items) > 0 {
		doc.add(boolean("builtin", !s.Classify.NoBuiltin))
	}
	text, err := json.Marshal(plain(doc))
	if err != nil {
		panic("policyfile: a document can always be encoded: " + err.Error())
	}
	return append([]byte(hashVersion), text...)
}

// plain converts an item to values that encoding/json can write with sorted keys.
func plain(i item) any {
	switch i.shape {
	case yamlfile.Mapping:
		m := make(map[string]any, len(i.items))
		for _, child := range i.items {
			m[child.key] = plain(child)
		}
		return m
	case yamlfile.List:
		l := make([]any, len(i.items))
		for n, child := range i.items {
			l[n] = plain(child)
		}
		return l
	default:
	}
	if i.same != "" {
		return i.same
	}
	return i.text
}
