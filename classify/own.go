package classify

import "github.com/redrive/redrive/failure"

// Rules are a policy's own. They take precedence over the built-in ones of the same rank,
// in the order in which they are written. Where Kinds are named, a rule is for
// jobs of these kinds only. A class may be any name. The zero value is the built-in
// rules.
type Rules struct {
	NoBuiltin bool          // the built-in rules do not count: only those here
	Codes     []CodeRule    // of the handler or of the other side
	Types     []TypeRule    // names of error types, of any language
	Statuses  []StatusRule  // of HTTP
	Exits     []ExitRule    // of processes
	Phrases   []PhraseRule  // words of the message
	Patterns  []PatternRule // regular expressions on the message
	Matchers  []Matcher     // in Go
	Text      string        `json:",omitempty"` // rules in the language of the built-in ones, with weights; see docs/policy.md
}

// CodeRule puts failures with a code into a class: the handler's code, that of
// the other side, a SQLSTATE, a gRPC status, an errno, or a code as redrive
// shows it, such as "http.503". Upper and lower case make no difference.
type CodeRule struct {
	Code  string
	Class failure.Class
	Kinds []string
}

// TypeRule puts errors of a type into a class. The name matches the whole of a
// type's name or what is behind its last dot, and in texts as the name of an
// exception.
type TypeRule struct {
	Type  string
	Class failure.Class
	Kinds []string
}

// StatusRule puts the HTTP statuses From to To into a class; To 0 is From alone.
type StatusRule struct {
	From, To int
	Class    failure.Class
	Kinds    []string
}

// ExitRule puts an exit code of a process, or a signal that ended it ("SIGKILL"),
// into a class.
type ExitRule struct {
	Code   int
	Signal string // "" looks at Code
	Class  failure.Class
	Kinds  []string
}

// PhraseRule puts failures whose text has the words into a class. The language
// is described in docs/policy.md.
type PhraseRule struct {
	Match string
	Class failure.Class
	Kinds []string
}

// PatternRule puts failures whose text matches a regular expression (RE2) into
// a class. At most PatternText bytes of a text are looked at.
type PatternRule struct {
	Match string
	Class failure.Class
	Kinds []string
}

// Matcher classifies in Go, before all other rules. Match must be pure and safe
// for use by several goroutines; a panic counts as no match. Name and Version
// are part of what a decision rests on.
type Matcher struct {
	Name, Version string
	Match         func(*failure.Evidence) (failure.Class, bool)
}

// Limits of a policy's own rules.
const (
	RulesMax    = 10_000   // phrases, and entries of each other list
	PatternsMax = 50       // patterns: each costs a pass over the text
	PatternText = 16 << 10 // bytes that a pattern looks at
	TextMax     = 64 << 10 // bytes of Text
	patternMax  = 1 << 10  // bytes of a pattern
)

// TextClasses returns the classes that the rules of Text name, each with the line, from 1, that
// names it first.
func (r *Rules) TextClasses() map[failure.Class]int {
	all := make(map[failure.Class]int)
	if len(r.Text) <= TextMax {
		rules, _ := readRules("rules", r.Text, false)
		for i := range rules {
			if c := rules[i].class; c != "" && all[c] == 0 {
				all[c] = rules[i].line
			}
		}
	}
	return all
}
