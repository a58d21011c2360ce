package policyfile

import (
	"slices"
	"strconv"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/yamlfile"
)

// classifyItem returns the item for the key classify. Matchers that follow each other and
// have the same class and kinds become one entry.
func classifyItem(rules *classify.Rules) item {
	m := comment("How evidence becomes a class.", mapping("classify"))
	if data := withoutGo(rules); rules.NoBuiltin && !noMatchers(&data) {
		m.always(boolean("builtin", false))
	}
	m.add(
		grouped("codes", "code", rules.Codes, func(c classify.CodeRule) (item, failure.Class, []string) { return text(c.Code), c.Class, c.Kinds }),
		grouped("types", "type", rules.Types, func(c classify.TypeRule) (item, failure.Class, []string) { return text(c.Type), c.Class, c.Kinds }),
		grouped("statuses", "status", rules.Statuses, func(c classify.StatusRule) (item, failure.Class, []string) {
			return item{shape: yamlfile.Number, text: showStatuses(c.From, c.To)}, c.Class, c.Kinds
		}),
		grouped("exit_codes", "exit", rules.Exits, func(c classify.ExitRule) (item, failure.Class, []string) {
			if c.Signal != "" {
				return text(c.Signal), c.Class, c.Kinds
			}
			return item{shape: yamlfile.Number, text: strconv.Itoa(c.Code)}, c.Class, c.Kinds
		}),
		grouped("phrases", "match", rules.Phrases, func(c classify.PhraseRule) (item, failure.Class, []string) { return text(c.Match), c.Class, c.Kinds }),
		grouped("patterns", "match", rules.Patterns, func(c classify.PatternRule) (item, failure.Class, []string) { return text(c.Match), c.Class, c.Kinds }),
	)
	if rules.Text != "" {
		own := text(rules.Text)
		own.key = "rules"
		m.always(own)
	}
	return m
}

// withoutGo returns the rules without the matchers that are written in Go, because a file
// cannot contain them.
func withoutGo(rules *classify.Rules) classify.Rules {
	data := *rules
	data.Matchers = nil
	return data
}

func text(s string) item { return item{shape: yamlfile.Text, text: s} }

// grouped returns the item for a list of matchers.
func grouped[R any](key, of string, rules []R, part func(R) (is item, class failure.Class, kinds []string)) item {
	all := list(key)
	for i := 0; i < len(rules); {
		is, class, kinds := part(rules[i])
		one := []item{is}
		for i++; i < len(rules); i++ {
			next, c, k := part(rules[i])
			if c != class || !slices.Equal(k, kinds) {
				break
			}
			one = append(one, next)
		}
		what := one[0]
		if len(one) > 1 {
			what = item{shape: yamlfile.List, inline: true, items: one}
		}
		what.key = of
		entry := item{shape: yamlfile.Mapping, inline: true, items: []item{what, word("class", string(class))}}
		entry.add(wordList("kinds", kinds))
		all.always(entry)
	}
	return all
}
