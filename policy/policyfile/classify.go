package policyfile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/yamlfile"
)

// classify reads the matchers, which give a class to evidence.
func (r *reader) classify(v value, rules *classify.Rules) {
	r.Fields(v, "a mapping such as {codes: [{code: FFMPEG_ERROR, class: FFmpegError}]}", []field{
		{"builtin", pointer(&r.builtin, r.Boolean)},
		{"codes", matchers(r, "code", &rules.Codes, r.Words, func(m match[string]) classify.CodeRule {
			return classify.CodeRule{Code: m.is, Class: m.class, Kinds: m.kinds}
		})},
		{"types", matchers(r, "type", &rules.Types, r.Words, func(m match[string]) classify.TypeRule {
			return classify.TypeRule{Type: m.is, Class: m.class, Kinds: m.kinds}
		})},
		{"statuses", matchers(r, "status", &rules.Statuses, r.statuses, func(m match[span2]) classify.StatusRule {
			return classify.StatusRule{From: m.is.from, To: m.is.to, Class: m.class, Kinds: m.kinds}
		})},
		{"exit_codes", matchers(r, "exit", &rules.Exits, r.exit, func(m match[end]) classify.ExitRule {
			return classify.ExitRule{Code: m.is.code, Signal: m.is.signal, Class: m.class, Kinds: m.kinds}
		})},
		{"phrases", matchers(r, "match", &rules.Phrases, r.Words, func(m match[string]) classify.PhraseRule {
			return classify.PhraseRule{Match: m.is, Class: m.class, Kinds: m.kinds}
		})},
		{"patterns", matchers(r, "match", &rules.Patterns, r.Words, func(m match[string]) classify.PatternRule {
			return classify.PatternRule{Match: m.is, Class: m.class, Kinds: m.kinds}
		})},
		{"rules", r.NonEmpty(&rules.Text)},
	})
}

// ownMatchers sets whether the built-in matchers are used in addition to those of the
// policy. A policy without matchers uses only the built-in matchers.
func (r *reader) ownMatchers(rules *classify.Rules) {
	if !noMatchers(rules) {
		rules.NoBuiltin = r.builtin != nil && !*r.builtin
		return
	}
	classify := r.root.Get("classify")
	if r.builtin != nil && !*r.builtin && classify != nil {
		r.Addf(classify.Get("builtin").Pos, "classify.builtin is false, and there are no matchers to put in the place of the built-in ones; add some, or remove it")
	}
}

func noMatchers(r *classify.Rules) bool {
	return len(r.Codes) == 0 && len(r.Types) == 0 && len(r.Statuses) == 0 && len(r.Exits) == 0 &&
		len(r.Phrases) == 0 && len(r.Patterns) == 0 && len(r.Matchers) == 0 && r.Text == ""
}

// match is one value to find in the evidence, and its class.
type match[T any] struct {
	is    T
	class failure.Class
	kinds []string
}

// matchers reads a list of matchers. An entry may have several values with the same class.
// In the Spec, each value is a separate rule.
func matchers[T, R any](r *reader, key string, into *[]R, read func(*T) func(value), rule func(match[T]) R) func(value) {
	return func(v value) {
		example := fmt.Sprintf("a list such as [{%s: …, class: NetworkTimeout}]", key)
		if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.List, example) {
			return
		}
		for i := range v.Items {
			item := v.Item(i)
			var all []T
			var m match[T]
			r.Fields(item, "a mapping such as "+example[len("a list such as ["):len(example)-1], []field{
				{key, oneOrMore(r, &all, "at least one", read)},
				{"class", r.class(&m.class)},
				{"kinds", r.kindList(&m.kinds)},
			})
			r.needs(item, key, "class")
			if m.class == "" { // this mistake was already reported
				continue
			}
			for n := range all {
				r.spots[fmt.Sprintf("%s[%d]", v.Path, len(*into))] = spot{placeOf(item.Get(key), n), item.Get("class").Pos, item.Path}
				m.is = all[n]
				*into = append(*into, rule(m))
			}
		}
		if len(*into) > matchesMax {
			r.Addf(v.Pos, "%s must hold at most %d entries, found %d", v.Path, matchesMax, len(*into))
		}
	}
}

// placeOf returns the position in the file of the value with index n in a node that is one
// value or a list of values.
func placeOf(v *yamlfile.Node, n int) position {
	if v.Shape == yamlfile.List && n < len(v.Items) {
		return v.Items[n].Pos
	}
	return v.Pos
}

// needs reports each of the required keys that a mapping does not have.
func (r *reader) needs(v value, keys ...string) {
	for _, key := range keys {
		if v.Shape == yamlfile.Mapping && v.Get(key) == nil {
			r.Addf(v.Pos, "%s has no %s; add it, or remove the entry", v.Path, key)
		}
	}
}

func (r *reader) kindList(into *[]string) func(value) {
	return oneOrMore(r, into, "a kind, or a list such as [render]", func(into *string) func(value) { return r.name("kind", into) })
}

// span2 is a range of HTTP statuses that includes both ends.
type span2 struct{ from, to int }

const statusWanted = "a status from 100 to 599, a class of them such as 5xx, or a range such as 500-504"

// statuses reads one status or a range of statuses.
func (r *reader) statuses(into *span2) func(value) {
	return func(v value) {
		s, ok := parseStatuses(v.Text)
		if v.Shape != yamlfile.Number && v.Shape != yamlfile.Text || !ok || v.Shape == yamlfile.Text && s.from == s.to {
			r.Mismatch(v, statusWanted, "")
			return
		}
		*into = s
	}
}

func parseStatuses(text string) (span2, bool) {
	if hundred, ok := strings.CutSuffix(text, "xx"); ok {
		n, err := strconv.Atoi(hundred)
		return span2{n * 100, n*100 + 99}, err == nil && len(hundred) == 1 && n >= 1 && n <= 5
	}
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	from, err1 := strconv.Atoi(low)
	to, err2 := strconv.Atoi(high)
	plain := len(low) == 3 && len(high) == 3
	return span2{from, to}, err1 == nil && err2 == nil && plain && from >= statusMin && to <= statusMax && from <= to
}

func showStatuses(from, to int) string {
	switch {
	case from == to:
		return strconv.Itoa(from)
	case from%100 == 0 && to == from+99:
		return fmt.Sprintf("%dxx", from/100)
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// end is how a subprocess ended: with an exit code or by a signal.
type end struct {
	code   int
	signal string
}

func (r *reader) exit(into *end) func(value) {
	return func(v value) {
		const want = "an exit code from 0 to 255, or a signal such as SIGKILL"
		code, err := strconv.Atoi(v.Text)
		switch {
		case v.Shape == yamlfile.Number && err == nil && strconv.Itoa(code) == v.Text && code >= exitMin && code <= exitMax:
			into.code = code
		case v.Shape == yamlfile.Text && isSignal(v.Text):
			into.signal = v.Text
		default:
			r.Mismatch(v, want, "")
		}
	}
}

func isSignal(s string) bool {
	name, ok := strings.CutPrefix(s, "SIG")
	return ok && len(name) >= 2 && len(name) <= 10 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
