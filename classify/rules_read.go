package classify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/phrase"
)

// readRules reads a rules file: see rules/README.md. It returns all mistakes of the file, each with its
// line and what is allowed; a rule that has one is left out. With parse, it also checks the phrases.
func readRules(file, text string, parse bool) ([]rule, []Problem) {
	r := rulesReader{file: file, parse: parse}
	for line := range strings.Lines(text) {
		r.line++
		line = strings.TrimRight(line, " \t\r\n")
		indented := line != "" && (line[0] == '\t' || line[0] == ' ')
		if r.begun != "" && !indented {
			r.wrong("the line before ends with \\, so its phrase must go on here: indent this line, or delete the \\")
			r.begun = ""
		}
		switch {
		case line == "" || line[0] == '#':
		case indented:
			r.lineOfPhrase(strings.TrimSpace(line))
		default:
			r.finish()
			r.head(strings.Fields(line))
		}
	}
	r.finish()
	return r.rules, r.problems
}

type rulesReader struct {
	file     string
	line     int
	parse    bool
	rules    []rule
	problems []Problem
	rule     rule
	begun    string // a phrase that goes on on the next line
	open     bool   // a head was read
	bad      bool   // the open rule has a mistake
}

func (r *rulesReader) wrong(format string, args ...any) {
	r.bad = true
	r.problems = append(r.problems, Problem{fmt.Sprintf("%s:%d", r.file, r.line), fmt.Sprintf(format, args...)})
}

// head reads "id class weight traits".
func (r *rulesReader) head(fields []string) {
	r.open, r.bad, r.rule = true, false, rule{id: fields[0], file: r.file, line: r.line}
	if len(fields) < 3 {
		r.wrong("a rule begins with its id, its class and its weight: %s NetworkTimeout strong", fields[0])
		return
	}
	if strings.IndexFunc(fields[0], func(c rune) bool {
		return c != '.' && c != '_' && c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) >= 0 {
		r.wrong("the id %q may have letters, digits, dots, hyphens and underscores only", fields[0])
	}
	if fields[1] != "-" {
		if r.rule.class = failure.Class(fields[1]); len(r.rule.class) > failure.CodeMax {
			r.wrong("a class of %d bytes: at most %d are allowed", len(r.rule.class), failure.CodeMax)
		}
	}
	r.rule.weight = r.weight(fields[2])
	for _, name := range fields[3:] {
		t, ok := traitNames[name]
		if !ok {
			r.wrong("unknown word %q behind the weight: one of %s", name, strings.Join(slices.Sorted(maps.Keys(traitNames)), ", "))
		}
		r.rule.trait |= t
	}
}

// weight reads a name of weightNames, and what is added to it: strong+2.
func (r *rulesReader) weight(text string) int {
	name, more := text, 0
	if i := strings.IndexAny(text, "+-"); i > 0 {
		name = text[:i]
		if more, _ = strconv.Atoi(text[i:]); more < -weightMax || more > weightMax {
			more = 0 // a mistake
		}
	}
	w, ok := weightNames[name]
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= weightMax {
		return n
	}
	if !ok || more == 0 && name != text {
		r.wrong("unknown weight %q: one of %s, also with +n or -n, or a number from 1 to %d; indent the line if it is a phrase",
			text, strings.Join(slices.Sorted(maps.Keys(weightNames)), ", "), weightMax)
	} else if w+more < 1 || w+more > weightMax {
		r.wrong("the weight %s is %d: must be from 1 to %d", text, w+more, weightMax)
	}
	return w + more
}

// lineOfPhrase reads a line of a phrase. One that ends with \ goes on on the next line.
func (r *rulesReader) lineOfPhrase(text string) {
	part, more := strings.CutSuffix(text, `\`)
	if part = strings.TrimSpace(part); r.begun != "" && part != "" && strings.IndexByte("(|", r.begun[len(r.begun)-1]) < 0 && strings.IndexByte("|)", part[0]) < 0 {
		part = " " + part
	}
	if r.begun += part; !more {
		whole := r.begun
		r.begun = ""
		r.phrase(whole)
	}
}

func (r *rulesReader) phrase(text string) {
	if !r.open {
		r.wrong("a phrase without a rule: a line that begins with the id of a rule must stand before it")
		return
	}
	if r.parse {
		r.check(text)
	}
	r.rule.phrases = append(r.rule.phrases, text)
}

// check parses a phrase.
func (r *rulesReader) check(text string) {
	if len(text) > phrase.Max {
		r.wrong("a phrase of %d bytes: at most %d are allowed; use several phrases", len(text), phrase.Max)
	} else if parsed, err := phrase.Parse(text); err != nil {
		r.wrong("phrase %q: %v", text, err)
	} else if !parsed.Words {
		r.wrong("phrase %q needs at least one word", text)
	}
}

func (r *rulesReader) finish() {
	if r.begun != "" {
		r.wrong("the last line of the phrases ends with \\: write how the phrase goes on, or delete the \\")
		r.begun = ""
	}
	if !r.open {
		return
	}
	r.open = false
	if !r.bad && len(r.rule.phrases) == 0 {
		r.wrong("rule %s has no phrases: write them on the next lines, behind a tab", r.rule.id)
	}
	if !r.bad {
		r.rules = append(r.rules, r.rule)
	}
}

// rule is one thing that programs say in many ways: a class, how much the words
// are worth as evidence, and the phrases.
type rule struct {
	id      string
	class   failure.Class
	weight  int
	trait   trait
	phrases []string
	file    string // and line, where it is written
	line    int
}
