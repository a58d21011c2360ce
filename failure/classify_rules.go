package failure

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redrive/redrive/internal/phrase"
)

// Rules are a policy's own: they come before the built-in ones of the same rank,
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
}

// CodeRule puts failures with a code into a class: the handler's code, that of
// the other side, a SQLSTATE, a gRPC status, an errno, or a code as redrive
// shows it, such as "http.503". Upper and lower case make no difference.
type CodeRule struct {
	Code  string
	Class Class
	Kinds []string
}

// TypeRule puts errors of a type into a class. The name matches the whole of a
// type's name or what is behind its last dot, and in texts as the name of an
// exception.
type TypeRule struct {
	Type  string
	Class Class
	Kinds []string
}

// StatusRule puts the HTTP statuses From to To into a class; To 0 is From alone.
type StatusRule struct {
	From, To int
	Class    Class
	Kinds    []string
}

// ExitRule puts an exit code of a process, or a signal that ended it ("SIGKILL"),
// into a class.
type ExitRule struct {
	Code   int
	Signal string // "" looks at Code
	Class  Class
	Kinds  []string
}

// PhraseRule puts failures whose text has the words into a class. The language
// is described in docs/policy.md.
type PhraseRule struct {
	Match string
	Class Class
	Kinds []string
}

// PatternRule puts failures whose text matches a regular expression (RE2) into
// a class. At most PatternText bytes of a text are looked at.
type PatternRule struct {
	Match string
	Class Class
	Kinds []string
}

// Matcher classifies in Go, before all other rules. Match must be pure and safe
// for use by several goroutines; a panic counts as no match. Name and Version
// are part of what a decision rests on.
type Matcher struct {
	Name, Version string
	Match         func(*Evidence) (Class, bool)
}

// Limits of a policy's own rules.
const (
	RulesMax    = 10_000   // phrases, and entries of each other list
	PatternsMax = 50       // patterns: each costs a pass over the text
	PatternText = 16 << 10 // bytes that a pattern looks at
	patternMax  = 1 << 10  // bytes of a pattern
)

// Problem is a mistake in rules: where, such as "phrases[2].match", and what.
type Problem struct{ Path, Message string }

// Classifier puts evidence into classes. It is safe for use by several
// goroutines.
type Classifier struct {
	builtin *ruleset // nil when a policy has switched them off
	own     *ruleset // nil without own phrases and types
	rules   Rules
	direct  bool // there are no rules but those that are built in
	ids     ruleIDs
	pats    []*regexp.Regexp
	pool    sync.Pool
}

// ruleset is a set of rules with the machine that finds their phrases.
type ruleset struct {
	machine *phrase.Machine
	rules   []textRule
	phrases int
	silent  silentTypes
}

// textRule is a rule as texts are read by it.
type textRule struct {
	id     string
	class  Class
	weight int
	trait  trait
	rank   Rank
	kinds  []string
	order  int32
	passes bool // its class is retriable
}

// freeze makes the machine of the rules.
func (s *ruleset) freeze(b *phrase.Builder) {
	for i := range s.rules {
		s.rules[i].passes = retriable(s.rules[i].class)
	}
	s.machine = b.Freeze()
}

// ruleIDs are the names of own rules, so that classifying makes no strings.
type ruleIDs struct{ codes, statuses, exits, patterns, matchers []string }

// Weights of own rules: codes before all, the others before what is built in of
// the same kind. What is built in and decides within texts still refines
// statuses: a quota that is used up is no matter of the status.
const (
	wOwnMatcher = 1000
	wOwnCode    = 900
	wOwnType    = 800
	wOwnPhrase  = 98
	wOwnPattern = 97
	wOwnStatus  = 79
)

// builtin is made at its first use.
var builtin = sync.OnceValues(func() (*ruleset, error) {
	rules, problems := builtinRules()
	if len(problems) > 0 {
		return nil, fmt.Errorf("built-in rules: %s: %s", problems[0].Path, problems[0].Message)
	}
	set := &ruleset{}
	for _, r := range rules {
		set.phrases += len(r.phrases)
		set.rules = append(set.rules, textRule{id: r.id, class: r.class, weight: r.weight, trait: r.trait, rank: RankPattern, passes: retriable(r.class)})
	}
	var err error
	set.machine, err = machineOf(rules)
	return set, err
})

var builtinClassifier = sync.OnceValue(func() *Classifier {
	c, _ := NewClassifier(Rules{})
	return c
})

// Builtin returns the classifier of the built-in rules.
func Builtin() *Classifier { return builtinClassifier() }

// Phrases returns how many phrases and patterns the classifier has.
func (c *Classifier) Phrases() (phrases, patterns int) {
	for _, set := range []*ruleset{c.builtin, c.own} {
		if set != nil {
			phrases += set.phrases
		}
	}
	return phrases, len(c.pats)
}

// NewClassifier compiles rules and returns all their mistakes. With mistakes
// the classifier is still usable: it leaves the rules out that have some.
func NewClassifier(r Rules) (*Classifier, []Problem) {
	c := &Classifier{rules: r}
	var p problems
	if !r.NoBuiltin {
		set, err := builtin()
		if err != nil {
			p.add("builtin", "%v", err)
		}
		c.builtin = set
	}
	p.tooMany("codes", len(r.Codes), RulesMax)
	for i, rule := range r.Codes {
		c.ids.codes = append(c.ids.codes, "policy.codes."+rule.Code)
		p.need("codes", i, "code", rule.Code, rule.Class)
	}
	for i, rule := range r.Statuses {
		c.ids.statuses = append(c.ids.statuses, fmt.Sprintf("policy.statuses.%d", rule.From))
		p.need("statuses", i, "from", "x", rule.Class)
		if rule.From < 100 || rule.From > 599 || rule.To != 0 && (rule.To < rule.From || rule.To > 599) {
			p.add(fmt.Sprintf("statuses[%d].from", i), "%d to %d is no range of HTTP statuses: 100 to 599", rule.From, max(rule.From, rule.To))
		}
	}
	for i, rule := range r.Exits {
		id := "policy.exits." + rule.Signal
		if rule.Signal == "" {
			id = fmt.Sprintf("policy.exits.%d", rule.Code)
			if rule.Code < 0 || rule.Code > 255 && rule.Code < 1<<30 {
				p.add(fmt.Sprintf("exits[%d].code", i), "%d is no exit code: 0 to 255", rule.Code)
			}
		}
		c.ids.exits = append(c.ids.exits, id)
		p.need("exits", i, "code", "x", rule.Class)
	}
	for i, m := range r.Matchers {
		c.ids.matchers = append(c.ids.matchers, "policy.matchers."+m.Name)
		if m.Name == "" || m.Match == nil {
			p.add(fmt.Sprintf("matchers[%d]", i), "a matcher needs a name and a function")
		}
	}
	c.compilePhrases(&p)
	c.compilePatterns(&p)
	c.direct = c.builtin != nil && len(r.Codes)+len(r.Types)+len(r.Statuses)+len(r.Exits)+len(r.Phrases)+len(r.Patterns)+len(r.Matchers) == 0
	return c, p
}

// compilePhrases puts own phrases and type names into a machine of their own.
func (c *Classifier) compilePhrases(p *problems) {
	p.tooMany("phrases", len(c.rules.Phrases), RulesMax)
	p.tooMany("types", len(c.rules.Types), RulesMax)
	if len(c.rules.Phrases)+len(c.rules.Types) == 0 {
		return
	}
	b, err := phrase.NewBuilder()
	if err != nil {
		p.add("phrases", "%v", err)
		return
	}
	set := &ruleset{}
	for i, rule := range c.rules.Types {
		p.need("types", i, "type", rule.Type, rule.Class)
		name := rule.Type[strings.LastIndexByte(rule.Type, '.')+1:]
		if err := b.Add(name, len(set.rules), true); err != nil {
			p.add(fmt.Sprintf("types[%d].type", i), "%q cannot be the name of a type", rule.Type)
		}
		set.rules = append(set.rules, textRule{
			id: "policy.types." + rule.Type, class: rule.Class, weight: wOwnPhrase, rank: RankType, kinds: rule.Kinds, order: int32(i + 1),
		})
	}
	for i, rule := range c.rules.Phrases {
		p.need("phrases", i, "match", rule.Match, rule.Class)
		if len(rule.Match) > phrase.Max {
			p.add(fmt.Sprintf("phrases[%d].match", i), "a phrase of %d bytes: at most %d are allowed", len(rule.Match), phrase.Max)
		} else if err := b.Add(rule.Match, len(set.rules), false); err != nil {
			p.add(fmt.Sprintf("phrases[%d].match", i), "%v", err)
		} else if parsed, _ := phrase.Parse(rule.Match); !parsed.Words && rule.Match != "" {
			p.add(fmt.Sprintf("phrases[%d].match", i), "a phrase needs at least one word")
		}
		set.rules = append(set.rules, textRule{
			id: fmt.Sprintf("policy.phrases.%d", i), class: rule.Class, weight: wOwnPhrase, rank: RankPattern, kinds: rule.Kinds, order: int32(i + 1),
		})
	}
	set.freeze(b)
	set.phrases = len(c.rules.Phrases)
	c.own = set
}

func (c *Classifier) compilePatterns(p *problems) {
	p.tooMany("patterns", len(c.rules.Patterns), PatternsMax)
	for i, rule := range c.rules.Patterns {
		p.need("patterns", i, "match", rule.Match, rule.Class)
		path := fmt.Sprintf("patterns[%d].match", i)
		var re *regexp.Regexp
		if len(rule.Match) > patternMax {
			p.add(path, "a pattern of %d bytes: at most %d are allowed", len(rule.Match), patternMax)
		} else if compiled, err := CompilePattern(rule.Match); err != nil {
			p.add(path, "%v", err)
		} else {
			re = compiled
		}
		c.pats = append(c.pats, re)
		c.ids.patterns = append(c.ids.patterns, fmt.Sprintf("policy.patterns.%d", i))
	}
}

type problems []Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{path, fmt.Sprintf(format, args...)})
}

func (p *problems) tooMany(list string, n, limit int) {
	if n > limit {
		p.add(list, "%d entries: at most %d are allowed", n, limit)
	}
}

// need checks what every rule must have.
func (p *problems) need(list string, i int, field, value string, class Class) {
	if value == "" {
		p.add(fmt.Sprintf("%s[%d].%s", list, i, field), "is empty: say what to look for")
	}
	if class == "" {
		p.add(fmt.Sprintf("%s[%d].class", list, i), "is empty: say which class it means")
	}
	if len(class) > CodeMax {
		p.add(fmt.Sprintf("%s[%d].class", list, i), "a class of %d bytes: at most %d are allowed", len(class), CodeMax)
	}
}

func forKind(kinds []string, kind string) bool {
	return len(kinds) == 0 || slices.Contains(kinds, kind)
}
