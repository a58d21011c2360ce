package classify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/weigh"
)

// Classifier puts evidence into classes. It is safe for use by several
// goroutines.
type Classifier struct {
	builtin *ruleset // nil when a policy has switched them off
	// structured are the built-in rules where they are switched off: they only find statuses and exit codes in texts, for the
	// statuses and exits of the policy.
	structured *ruleset
	model      *weigh.Model // the weights of weak evidence; nil weighs nothing
	own        *ruleset     // nil without own phrases and types
	rules      Rules
	direct     bool // there are no rules but those that are built in
	ids        ruleIDs
	pats       []*regexp.Regexp
	pool       sync.Pool
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
		if c.model, err = weigh.Stored(); err != nil {
			p.add("weights", "%v", err)
		}
	} else if len(r.Statuses)+len(r.Exits) > 0 {
		set, err := builtin()
		if err != nil {
			p.add("builtin", "%v", err)
		}
		c.structured = set
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
			p.add(fmt.Sprintf("statuses[%d].from", i), "%d to %d is not a range of HTTP statuses (100 to 599)", rule.From, max(rule.From, rule.To))
		}
	}
	for i, rule := range r.Exits {
		id := "policy.exits." + rule.Signal
		if rule.Signal == "" {
			id = fmt.Sprintf("policy.exits.%d", rule.Code)
			if rule.Code < 0 || rule.Code > 255 && rule.Code < 1<<30 {
				p.add(fmt.Sprintf("exits[%d].code", i), "%d is not an exit code (0 to 255)", rule.Code)
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
	c.direct = c.builtin != nil && len(r.Codes)+len(r.Types)+len(r.Statuses)+len(r.Exits)+len(r.Phrases)+len(r.Patterns)+len(r.Matchers)+len(r.Text) == 0
	return c, p
}

// compilePhrases puts own phrases and type names into a machine of their own.
func (c *Classifier) compilePhrases(p *problems) {
	p.tooMany("phrases", len(c.rules.Phrases), RulesMax)
	p.tooMany("types", len(c.rules.Types), RulesMax)
	if len(c.rules.Phrases)+len(c.rules.Types)+len(c.rules.Text) == 0 {
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
		} else if slices.Contains(everywhere, strings.ToLower(strings.TrimSpace(rule.Match))) {
			p.add(fmt.Sprintf("phrases[%d].match", i), "nearly every text has the word %q: add the words beside it", rule.Match)
		}
		set.rules = append(set.rules, textRule{
			id: fmt.Sprintf("policy.phrases.%d", i), class: rule.Class, weight: wOwnPhrase, rank: RankPattern, kinds: rule.Kinds, order: int32(i + 1),
		})
	}
	set.phrases = len(c.rules.Phrases) + addText(set, b, c.rules.Text, p)
	set.freeze(b)
	c.own = set
}

// addText adds the rules of a text to a set, and returns how many phrases they have.
func addText(set *ruleset, b *phrase.Builder, text string, p *problems) (phrases int) {
	if len(text) > TextMax {
		p.add("rules", "%d bytes: at most %d are allowed; leave some rules out", len(text), TextMax)
		return 0
	}
	rules, wrong := readRules("line", text, true)
	for _, w := range wrong {
		p.add("rules", "%s: %s", strings.Replace(w.Path, ":", " ", 1), w.Message)
	}
	for _, r := range rules {
		for _, words := range r.phrases {
			if err := b.Add(words, len(set.rules), r.trait&identifiers != 0); err != nil {
				p.add("rules", "line %d: %v", r.line, err)
			}
		}
		phrases += len(r.phrases)
		set.rules = append(set.rules, textRule{id: "policy." + r.id, class: r.class, weight: r.weight, trait: r.trait, rank: RankPattern})
	}
	p.tooMany("rules", phrases, RulesMax)
	return phrases
}

// everywhere are words that are no phrase of their own.
var everywhere = []string{
	"a", "an", "and", "as", "at", "be", "by", "for", "from", "has", "in", "is", "it", "not", "of", "on", "or", "that", "the", "this", "to", "was", "with",
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

func forKind(kinds []string, kind string) bool {
	return len(kinds) == 0 || slices.Contains(kinds, kind)
}
