package policyfile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy"
)

// compile compiles the policy and reports the mistakes that only compiling can find. If the
// reader has already found mistakes, these are skipped.
func (r *reader) compile(s policy.Spec) *policy.Policy {
	p, problems := policy.New(s)
	reported := map[position]bool{}
	for _, t := range r.Problems() {
		reported[position{Line: t.Line, Col: t.Col}] = true
	}
	for _, problem := range problems {
		at, key := r.place(problem.Path)
		entry, rest := r.spotOf(problem.Path)
		if entry.path != "" {
			at, key, problem.Path = entry.at, entry.at, entry.path+rest
			if rest == ".class" {
				at = entry.class
			}
		}
		if !reported[at] && !reported[key] {
			r.Addf(at, "%s", problem)
		}
	}
	return p
}

// spelt maps names of fields in the Spec to the other names that these fields have in a
// file.
var spelt = map[string]string{
	"max_retries": "max_attempts", // the file may give max_attempts instead, whose value is one higher
	"percent":     "jitter",
	"spread":      "jitter",
	"formula":     "waits",
}

// place returns the positions of a value and of its key in the file. If the path is not in the
// file, it returns the position of the nearest part that encloses it. Values that come from an
// extended preset have the position of the key extends.
func (r *reader) place(path string) (at, key position) {
	at = position{Line: 1, Col: 1}
	if extends := r.root.Get("extends"); extends != nil {
		at = extends.Pos
	}
	key = at
	n := r.root.Node
	for path != "" && n != nil {
		if n.Shape == yamlfile.List {
			number, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
			i, err := strconv.Atoi(number)
			if err != nil || i < 0 || i >= len(n.Items) {
				return at, key
			}
			n, path = n.Items[i], strings.TrimPrefix(rest, ".")
			at, key = n.Pos, n.Pos
			continue
		}
		e, rest := entryOf(n, path)
		if e == nil {
			return at, key
		}
		n, path, at, key = e.Value, rest, e.Value.Pos, e.Pos
		if n.Shape == yamlfile.Mapping {
			at = key
		}
	}
	return at, key
}

// spotOf looks up a path of the Spec whose list entry has a shorter form in the file. It returns
// where that entry is in the file, and the part of the path after it.
func (r *reader) spotOf(path string) (s spot, rest string) {
	path = strings.Replace(path, "classify.exits[", "classify.exit_codes[", 1)
	if end := strings.IndexByte(path, ']') + 1; end > 0 {
		return r.spots[path[:end]], path[end:]
	}
	return spot{}, ""
}

// entryOf returns the entry of a mapping that the beginning of the path names, and the rest of
// the path. Names may contain dots, so the longest matching key is used.
func entryOf(n *yamlfile.Node, path string) (found *yamlfile.Entry, rest string) {
	for i := range n.Entries {
		e := &n.Entries[i]
		after, ok := strings.CutPrefix(path, e.Key)
		if ok && (after == "" || strings.ContainsAny(after[:1], ".[")) && (found == nil || len(e.Key) > len(found.Key)) {
			found, rest = e, strings.TrimPrefix(after, ".")
		}
	}
	if found != nil {
		return found, rest
	}
	if other, ok := spelt[path]; ok {
		if i := slices.IndexFunc(n.Entries, func(e yamlfile.Entry) bool { return e.Key == other }); i >= 0 {
			return &n.Entries[i], ""
		}
	}
	return nil, ""
}
