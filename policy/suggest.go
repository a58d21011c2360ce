package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/scan"
)

// Past is one cause of the stored history.
type Past struct {
	Group string // its fingerprint
	Kind  string
	Class failure.Class
	Code  string
	Text  string
	N     int64 // deaths
}

// Suggestion is a rule that tells the failures of labels from all others: a phrase or a code.
type Suggestion struct {
	Class  failure.Class
	Phrase string // empty if the rule is a code
	Code   string
	Kinds  []string // of the jobs whose failures it was made from; the rule is limited to them
	Labels int      // it covers
	Also   []Past   // what else it would have hit, of another class
}

// suggestWords is the most words that a suggested phrase has.
const suggestWords = 4

// Suggest returns the smallest rules that tell the failures of labels from the rest of the stored history, by class. Of two
// labels for the same failures the first one counts. A rule that hits fewer causes of another class is better, then one that
// covers more labels, then a code, then one with fewer words, then the one nearer to the end of a text.
func Suggest(labels []Label, past []Past) []Suggestion {
	var lines []line
	for i := range labels {
		l := &labels[i]
		if !slices.ContainsFunc(lines, func(o line) bool { return o.Kind == l.Kind && o.Text == l.Text && o.Code == l.Code }) {
			lines = append(lines, line{Label: *l, text: spaced(l.Text)})
		}
	}
	others := make([]string, len(past))
	for i := range past {
		others[i] = spaced(past[i].Text)
	}
	var all []Suggestion
	for i := range lines {
		for !lines[i].covered {
			s, ok := best(lines, lines[i].Class, past, others)
			if !ok {
				break
			}
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Suggestion) int { return cmp.Compare(a.Class, b.Class) })
	return all
}

// line is a label with its words.
type line struct {
	Label
	text    string
	covered bool
}

// candidate is a rule that may be suggested.
type candidate struct {
	Suggestion
	text  string // the phrase as in spaced
	words int
	also  int
}

// best returns the best rule for the labels of a class that no rule covers yet, and marks those that it covers.
func best(lines []line, class failure.Class, past []Past, others []string) (Suggestion, bool) {
	seen := map[string]bool{}
	var top *candidate
	try := func(c candidate) {
		if seen[c.Code+"\n"+c.text] {
			return
		}
		seen[c.Code+"\n"+c.text] = true
		c.Class = class
		if c.measure(lines, past, others); c.Labels > 0 && (top == nil || c.better(top)) {
			top = &c
		}
	}
	for i := range lines {
		if l := &lines[i]; l.Class == class && !l.covered {
			if l.Code != "" && (!strings.HasPrefix(l.Code, "exit.") || l.Phrase() == "") { // an exit code says little
				try(candidate{Suggestion: Suggestion{Code: l.Code}})
			}
			for run := range strings.SplitSeq(l.text, "|") {
				words := strings.Fields(run)
				for from := range words {
					for n := 1; n <= suggestWords && from+n <= len(words); n++ {
						if phrase := strings.Join(words[from:from+n], " "); n > 1 || len(phrase) > 3 {
							try(candidate{Suggestion: Suggestion{Phrase: phrase}, text: " " + phrase + " ", words: n})
						}
					}
				}
			}
		}
	}
	if top == nil {
		return Suggestion{}, false
	}
	for i := range lines {
		if top.covers(&lines[i]) {
			lines[i].covered = true
		}
	}
	for i := range past {
		if top.hits(&past[i], others[i], lines) {
			top.Also = append(top.Also, past[i])
		}
	}
	return top.Suggestion, true
}

func (c *candidate) matches(code, text string) bool {
	if c.Code != "" {
		return strings.EqualFold(c.Code, code)
	}
	return strings.Contains(text, c.text)
}

func (c *candidate) covers(l *line) bool { return l.Class == c.Class && c.matches(l.Code, l.text) }

// hits reports whether the rule hits a cause that has another class and no label of this one.
func (c *candidate) hits(p *Past, text string, lines []line) bool {
	return p.Class != c.Class && slices.Contains(c.Kinds, p.Kind) && c.matches(p.Code, text) &&
		!slices.ContainsFunc(lines, func(l line) bool { return l.Class == c.Class && l.Kind == p.Kind && l.Text == p.Text })
}

// measure counts what the rule covers and what else it hits.
func (c *candidate) measure(lines []line, past []Past, others []string) {
	for i := range lines {
		if l := &lines[i]; c.covers(l) && !l.covered {
			c.Labels++
			if !slices.Contains(c.Kinds, l.Kind) {
				c.Kinds = append(c.Kinds, l.Kind)
			}
		}
	}
	slices.Sort(c.Kinds)
	for i := range lines {
		if l := &lines[i]; l.Class != c.Class && slices.Contains(c.Kinds, l.Kind) && c.matches(l.Code, l.text) {
			c.also++
		}
	}
	for i := range past {
		if c.hits(&past[i], others[i], lines) {
			c.also++
		}
	}
}

func (c *candidate) better(than *candidate) bool {
	// One word alone says little about texts to come, so two are as good as one.
	size := func(c *candidate) int { return max(c.words, min(2, c.words*2)) }
	order := cmp.Or(cmp.Compare(c.also, than.also), cmp.Compare(than.Labels, c.Labels), cmp.Compare(size(c), size(than)),
		cmp.Compare(than.words, c.words))
	return order <= 0 // a text ends with its cause, so that the later one of two that are as good counts
}

// spaced returns the words of a text in lower case, with a space around each. A "|" stands for what is no word.
func spaced(text string) string {
	text = cause(text)
	b := strings.Builder{}
	b.WriteByte(' ')
	for _, t := range scan.Tokens(nil, text) {
		if word := text[t.Start:t.End]; t.Kind == scan.Word && plainWord(word) {
			b.WriteString(strings.ToLower(word))
		} else {
			b.WriteByte('|')
		}
		b.WriteByte(' ')
	}
	return b.String()
}
