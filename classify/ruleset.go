package classify

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/phrase"
)

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
	class  failure.Class
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

// silentMax bounds how many names of types are kept.
const silentMax = 256

// silentTypes are the names of types that were read and say nothing, so that
// those of a program are read once. It is a cache and nothing else.
type silentTypes struct {
	names atomic.Pointer[map[string]struct{}]
}

func (s *silentTypes) has(name string) bool {
	names := s.names.Load()
	if names == nil {
		return false
	}
	_, ok := (*names)[name]
	return ok
}

// add keeps a name. When two goroutines add at a time, one may be forgotten.
func (s *silentTypes) add(name string) {
	next := map[string]struct{}{strings.Clone(name): {}}
	if names := s.names.Load(); names != nil {
		if len(*names) >= silentMax {
			return
		}
		for have := range *names {
			next[have] = struct{}{}
		}
	}
	s.names.Store(&next)
}
