package classify

import (
	"strings"

	"github.com/redrive/redrive/internal/lines"
	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/plaintext"
	"github.com/redrive/redrive/internal/scan"
)

// readTexts looks at the message, at what a process has written, and, if neither
// says much, at the details.
func (r *reader) readTexts() {
	r.e.Message = unescaped(r.e.Message)
	r.readText(r.e.Message)
	if len(r.e.Stderr) > 0 {
		r.readOutput(fromStderr, tail(r.e.Stderr))
	}
	if len(r.e.Stdout) > 0 {
		r.readStdout(tail(r.e.Stdout))
	}
	if len(r.e.Details) > 0 {
		if best := r.best(); best < 0 || r.hits[best].weight < wGeneric {
			r.readText(unescaped(tail(r.e.Details)))
		}
	}
}

// readOutput reads what a process has written.
func (r *reader) readOutput(from source, text string) {
	text = plaintext.WithoutNoise(unescaped(text))
	r.from, r.output[from] = from, text
	r.readText(text)
	r.from = fromElsewhere
}

// readStdout reads what a process has written to its standard output. That is mostly its work
// and not a report of the failure. So it counts as any text only where nothing else says much;
// otherwise only what is said of one cause alone counts.
func (r *reader) readStdout(text string) {
	least := 0
	if best := r.best(); best >= 0 && r.hits[best].weight >= wWeak {
		least = wStrong
	}
	had, hint, traits := len(r.hits), r.hint, r.traits
	r.readOutput(fromStdout, text)
	if least == 0 {
		return
	}
	kept := r.hits[:had]
	for _, h := range r.hits[had:] {
		if h.weight >= least {
			kept = append(kept, h)
		}
	}
	if r.hits = kept; len(kept) == had {
		r.hint, r.traits = hint, traits
	}
}

// line returns the line that a hit is from, if a process wrote it and the line is no frame.
func (r *reader) line(h *hit) string {
	if h.from == fromElsewhere {
		return ""
	}
	line, worth := lines.At(r.output[h.from], int(h.offset))
	if worth <= lines.Frame {
		return ""
	}
	return line
}

// tail returns the end of bytes, where errors say what happened.
func tail(b []byte) string { return string(b[max(0, len(b)-scan.Max):]) }

// readText finds the phrases of one text, and what its patterns say.
func (r *reader) readText(text string) {
	if text == "" {
		return
	}
	before := len(r.hits)
	r.forget()
	r.read = scan.Read(text)
	if r.c.builtin != nil {
		r.matcher.Run(r.c.builtin.machine, text, r.read.Tokens)
		r.context(&r.matcher)
		r.leading(&r.matcher)
		if r.collect {
			r.addWords()
		}
		r.matches(&r.matcher, r.c.builtin)
	} else if r.c.structured != nil {
		r.matcher.Run(r.c.structured.machine, text, r.read.Tokens)
		r.context(&r.matcher)
		r.leading(&r.matcher)
		r.matches(&r.matcher, r.c.structured)
	}
	if r.c.own != nil {
		r.own.Run(r.c.own.machine, text, r.read.Tokens)
		r.context(&r.own)
		r.matches(&r.own, r.c.own)
	}
	r.patterns(text)
	if len(r.c.rules.Codes) > 0 {
		r.codesIn(text, before)
	}
}

// leading reads a status at the beginning of a text: clients put it in front of
// the body, "429 {…}", and mail servers begin their replies with it.
func (r *reader) leading(m *phrase.Matcher) {
	if len(m.Syms) < 2 {
		return
	}
	first := &m.Tokens[m.Syms[0].Token]
	if first.Kind != scan.Number || first.Num < 400 || first.Num >= 600 || first.Glued && first.Start > 0 {
		return
	}
	saw := first.Text(m.Text)
	next := &m.Tokens[m.Syms[0].Token+1]
	code := int(first.Num)
	switch {
	case enhanced(m.TextOf(1)), code == 450, code >= 452 && code <= 454, code >= 534 && code <= 538, code >= 550 && code <= 556,
		code == 421, code == 451 && m.Word(1) != "Unavailable", code == 530 && m.Word(1) != "Site":
		r.mailStatus(code, RankText, 1, saw)
	case next.Kind == scan.Punct && strings.IndexByte("{[:<", m.Text[next.Start]) >= 0:
		r.status(code, RankText, 1, saw)
	}
}

// patterns runs the policy's regular expressions.
func (r *reader) patterns(text string) {
	for i, re := range r.c.pats {
		rule := &r.c.rules.Patterns[i]
		if re == nil || !forKind(rule.Kinds, r.kind) {
			continue
		}
		if at := re.FindStringIndex(text[:min(len(text), PatternText)]); at != nil {
			r.add(hit{
				rule: r.c.ids.patterns[i], class: rule.Class, rank: RankPattern, weight: wOwnPattern, saw: text[at[0]:at[1]], order: int32(i + 1),
				offset: int32(at[0]),
			})
		}
	}
}

// addWords puts the words of the text that is being read into the bag.
func (r *reader) addWords() {
	r.bag.Words(&r.matcher, r.adjust, -inQuote+1, statusWords(&r.matcher))
}

// statusWords returns how many symbols at the beginning of a text say only with which code a program ended, as in
// "exit code 1: not yet". The code is evidence of its own, and its words say nothing about the cause.
func statusWords(m *phrase.Matcher) int {
	if len(m.Syms) < 3 || m.Word(0) != "exit" || m.Tokens[m.Syms[2].Token].Kind != scan.Number {
		return 0
	}
	if w := m.Word(1); w != "code" && w != "status" {
		return 0
	}
	return 3
}
