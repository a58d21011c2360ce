package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/scan"
)

// Label is a line of an installation: a failure of a kind, and the class that it has, as a person says.
type Label struct {
	Class failure.Class
	Kind  string // the kind of the jobs
	Code  string // of the failure; it counts only where there is no text
	Text  string // the message of the failure, without secrets
}

// LabelsMax is the maximum number of labels that a policy takes: the newest ones.
const LabelsMax = 500

// Limits of the phrase of a label.
const (
	labelWords = 12 // words of the text that count, from its beginning
	labelGap   = 8  // words that may stand in the place of a number, a path or another value
)

// String returns the label as it is stored. ParseLabel reads it.
func (l *Label) String() string {
	return fmt.Sprintf("class: %s\nkind: %s\ncode: %s\ntext: %s", l.Class, l.Kind, l.Code, l.Text)
}

// ParseLabel reads a stored label. It reports false for any other text.
func ParseLabel(stored string) (l Label, ok bool) {
	var class, kind, code string
	for _, f := range [...]struct {
		name string
		to   *string
	}{{"class: ", &class}, {"kind: ", &kind}, {"code: ", &code}} {
		line, rest, _ := strings.Cut(stored, "\n")
		if *f.to, ok = strings.CutPrefix(line, f.name); !ok {
			return Label{}, false
		}
		stored = rest
	}
	l = Label{Class: failure.Class(class), Kind: kind, Code: code}
	l.Text, ok = strings.CutPrefix(stored, "text: ")
	return l, ok && l.Class != ""
}

// Phrase returns the words by which a policy recognises the text of the label, in the language of classify.phrases. It is
// empty if the text has too few words.
func (l *Label) Phrase() string {
	var parts []string
	words, gap := 0, false
	text := cause(l.Text)
	for _, t := range scan.Tokens(nil, text) {
		switch {
		case t.Kind == scan.Punct || t.Kind == scan.Newline:
		case t.Kind != scan.Word || !plainWord(text[t.Start:t.End]):
			gap = true
		case words == labelWords:
		default:
			if gap && words > 0 {
				parts = append(parts, fmt.Sprintf("...%d", labelGap))
			}
			gap = false
			parts = append(parts, strings.ToLower(text[t.Start:t.End]))
			words++
		}
	}
	if words == 0 || words == 1 && len(parts[0]) < 4 {
		return ""
	}
	return strings.Join(parts, " ")
}

// cause returns what a process has written, without how it ended: a record has both in one line, and the evidence has them
// in two texts.
func cause(text string) string {
	for _, ended := range [...]string{"exit code ", "exit status ", "killed by ", "signal: "} {
		if _, rest, ok := strings.Cut(text, ended); ok {
			if _, said, ok := strings.Cut(rest, ": "); ok {
				text = said
			}
		}
	}
	return text
}

// plainWord reports whether a word means only itself in a phrase.
func plainWord(word string) bool { return !strings.ContainsAny(word, "()|?!<>.[]*") }

// LabelRules returns the matchers that recognise the failures of the labels: those of the kind of a label with its words, or with
// its code where it has too few words. Of two labels for the same failures the first one counts.
func LabelRules(labels []Label) (r classify.Rules) {
	for i := range labels {
		l := &labels[i]
		var kinds []string
		if l.Kind != "" {
			kinds = []string{l.Kind}
		}
		if phrase := l.Phrase(); phrase != "" {
			if !slices.ContainsFunc(r.Phrases, func(p classify.PhraseRule) bool { return p.Match == phrase && slices.Equal(p.Kinds, kinds) }) {
				r.Phrases = append(r.Phrases, classify.PhraseRule{Match: phrase, Class: l.Class, Kinds: kinds})
			}
		} else if l.Code != "" {
			if !slices.ContainsFunc(r.Codes, func(c classify.CodeRule) bool { return c.Code == l.Code && slices.Equal(c.Kinds, kinds) }) {
				r.Codes = append(r.Codes, classify.CodeRule{Code: l.Code, Class: l.Class, Kinds: kinds})
			}
		}
	}
	return r
}

// sourceOf returns the matchers of labels as a comment at the end of the text of a policy.
func sourceOf(r *classify.Rules) string {
	var b strings.Builder
	b.WriteString("\n# Before these matchers come those that people have set with \"dlq groups reclassify\":\n")
	line := func(list, key, value string, class failure.Class, kinds []string) {
		fmt.Fprintf(&b, "# %s: {%s: %q, class: %s, kinds: [%s]}\n", list, key, value, class, strings.Join(kinds, ", "))
	}
	for _, p := range r.Phrases {
		line("phrases", "match", p.Match, p.Class, p.Kinds)
	}
	for _, c := range r.Codes {
		line("codes", "code", c.Code, c.Class, c.Kinds)
	}
	return b.String()
}

// WithLabels returns the policy with matchers for labels, before its own. The newest label is the first. Labels whose class
// the policy does not know are left out and returned.
func (p *Policy) WithLabels(labels []Label) (with *Policy, unknown []Label, problems []Problem) {
	var known []Label
	for i := range labels[:min(len(labels), LabelsMax)] {
		_, builtin := failure.InfoOf(labels[i].Class)
		if _, own := p.spec.Classes[labels[i].Class]; builtin || own {
			known = append(known, labels[i])
		} else {
			unknown = append(unknown, labels[i])
		}
	}
	add := LabelRules(known)
	if len(add.Phrases)+len(add.Codes) == 0 {
		return p, unknown, nil
	}
	s := p.spec
	s.Hash = ""
	if s.Source != nil {
		s.Source = append(slices.Clip(s.Source), sourceOf(&add)...)
	}
	s.Classify.Phrases = slices.Concat(add.Phrases, s.Classify.Phrases)
	s.Classify.Codes = slices.Concat(add.Codes, s.Classify.Codes)
	with, problems = New(s)
	return with, unknown, problems
}
