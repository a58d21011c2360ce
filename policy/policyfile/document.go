package policyfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy"
)

// item is a part of a document: a scalar, a list or a mapping, with its key.
type item struct {
	key     string
	comment string // the comment that is written on separate lines above the item
	text    string // the scalar as text that YAML and JSON write in the same way, or as plain YAML
	same    string // the scalar as text for the hash; set only if the scalar can be written in several ways
	shape   yamlfile.Shape
	inline  bool // whether the item is written on one line
	items   []item
}

// document converts a Spec to the tree from which the file and the hash are made. The tree
// contains the whole Spec in a fixed order.
func document(s *policy.Spec) item {
	doc := mapping("", number("version", Version), word("name", s.Name))
	doc.add(comment("Ceilings over everything below.", flow("limits",
		integer("max_attempts", s.Limits.MaxAttempts), span("max_age", s.Limits.MaxAge), span("max_wait", s.Limits.MaxWait))))
	doc.add(comment("What is carried out, and what only recorded.", rolloutItem(&s.Rollout)))
	doc.add(comment("For classes and kinds that say nothing.", mapping("default", append(runItems(&s.Runs), settingsItems(&s.Default)...)...)))
	doc.add(classItems(s.Classes))
	doc.add(kindItems(s.Kinds))
	doc.add(ruleItems(s.Rules))
	doc.add(classifyItem(&s.Classify))
	doc.add(wordItems(&s.Words))
	return doc
}

// add appends those items that are not empty.
func (i *item) add(more ...item) {
	for _, m := range more {
		if m.shape != yamlfile.Null && (len(m.items) > 0 || m.shape != yamlfile.Mapping && m.shape != yamlfile.List) {
			i.items = append(i.items, m)
		}
	}
}

// always appends an item, even if the item is empty.
func (i *item) always(m item) { i.items = append(i.items, m) }

func mapping(key string, items ...item) item {
	m := item{key: key, shape: yamlfile.Mapping}
	m.add(items...)
	return m
}

func flow(key string, items ...item) item {
	m := mapping(key, items...)
	m.inline = true
	return m
}

func list(key string, items ...item) item {
	l := item{key: key, shape: yamlfile.List}
	l.add(items...)
	return l
}

func comment(text string, i item) item {
	i.comment = text
	return i
}

var nothing = item{shape: yamlfile.Null}

// word returns an item with a text. For "" it returns an empty item.
func word(key, text string) item {
	if text == "" {
		return nothing
	}
	return item{key: key, shape: yamlfile.Text, text: text}
}

func number[N int | int64](key string, n N) item {
	return item{key: key, shape: yamlfile.Number, text: strconv.FormatInt(int64(n), 10)}
}

// integer returns an item with a number. For 0 it returns an empty item.
func integer(key string, n int) item {
	if n == 0 {
		return nothing
	}
	return number(key, n)
}

func boolean(key string, b bool) item {
	return item{key: key, shape: yamlfile.Bool, text: strconv.FormatBool(b)}
}

// span returns an item with a duration. For 0 it returns an empty item.
func span(key string, d time.Duration) item {
	if d == 0 {
		return nothing
	}
	return item{key: key, shape: yamlfile.Text, text: yamlfile.Span(d)}
}

func share(key string, f float64) item {
	if f == 0 {
		return nothing
	}
	return item{key: key, shape: yamlfile.Text, text: showPercent(f)}
}

// choiceOf returns an item with the word for a value. For the first value, which is the
// default, it returns an empty item.
func choiceOf[T comparable](key string, v T, words []string, meanings []T) item {
	if i := slices.Index(meanings, v); i > 0 {
		return word(key, words[i])
	}
	return nothing
}

// optional returns the item that the given function makes from the value of v, or an empty
// item if v is nil.
func optional[T any](v *T, show func(T) item) item {
	if v == nil {
		return nothing
	}
	return show(*v)
}

func settingsItems(s *policy.Settings) []item {
	retries := func(key string) func(int) item { return func(n int) item { return number(key, n) } }
	wait := optional(s.Backoff, func(b backoff.Backoff) item { return backoffItem(&b, s.MaxRetries) })
	return []item{
		optional(s.Retry, func(b bool) item { return boolean("retry", b) }),
		optional(s.MaxRetries, retries("max_retries")),
		optional(s.MaxTotalRetries, retries("max_total_retries")),
		optional(s.HandOvers, retries("handovers")),
		wait,
		optional(s.Count, func(c policy.Count) item { return word("count", countWords[slices.Index(counts, c)]) }),
		optional(s.Hint, func(h policy.Hint) item { return hintItem(&h) }),
		optional(s.MaxCost, func(m int64) item {
			return item{key: "max_cost", shape: yamlfile.Number, text: showDollars(m)}
		}),
		word("verdict", string(s.Verdict)),
		optional(s.Escalate, func(e policy.Escalation) item {
			return flow("escalate", word("queue", e.Queue), integer("priority", e.Priority), integer("after", e.After))
		}),
	}
}

func runItems(s *policy.RunSpec) []item {
	codes := &s.Codes
	return []item{
		span("timeout", s.Timeout), integer("max_crashes", s.MaxCrashes),
		flow("codes", word("time_limit", codes.TimeLimit), word("missing_input", codes.MissingInput), word("command", codes.Command)),
	}
}

func showDollars(micros int64) string {
	s := fmt.Sprintf("%d.%06d", micros/microsDollar, micros%microsDollar)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func backoffItem(b *backoff.Backoff, retries *int) item {
	i := flow("backoff")
	if b.Formula == backoff.Exponential {
		i.always(item{key: "first", shape: yamlfile.Text, text: yamlfile.Span(b.First)})
		if b.Factor != 0 {
			i.add(item{key: "factor", shape: yamlfile.Number, text: strconv.FormatFloat(b.Factor, 'f', -1, 64)})
		}
	} else {
		waits := item{key: "waits", shape: yamlfile.List, inline: true}
		for _, w := range b.Waits {
			waits.always(item{shape: yamlfile.Text, text: yamlfile.Span(w)})
		}
		i.always(waits)
	}
	i.add(choiceOf("past", b.Past, pastWords, pasts), span("cap", b.Cap), span("floor", b.Floor))
	switch b.Jitter {
	case backoff.Percent:
		i.add(share("jitter", b.Percent))
	case backoff.Additive:
		i.add(flow("jitter", span("add", b.Spread)))
	default:
		i.add(choiceOf("jitter", b.Jitter, jitterWords, jitters))
	}
	i.comment = waitsOf(b, retries)
	return i
}

// waitsOf returns the first waits of an exponential back-off as text. It returns "" for
// other formulas.
func waitsOf(b *backoff.Backoff, retries *int) string {
	if b.Formula != backoff.Exponential || b.Jitter == backoff.Decorrelated || retries == nil || *retries == 0 {
		return ""
	}
	const shown = 6
	var waits []string
	for n := range min(*retries, shown) {
		waits = append(waits, backoff.Short(b.Nominal(n+1)))
	}
	if *retries > shown {
		waits = append(waits, "…")
	}
	s := strings.Join(waits, ", ")
	if jitter := b.Spreading(); jitter != "" {
		s += "; " + jitter
	}
	return s
}

func hintItem(h *policy.Hint) item {
	jitter := share("jitter", h.Jitter)
	if h.Jitter == policy.NoJitter {
		jitter = word("jitter", jitterWords[0])
	}
	i := flow("hint", choiceOf("mode", h.Mode, hintWords, hintModes), jitter, span("jitter_min", h.JitterMin),
		span("max", h.Max), choiceOf("beyond", h.OverMax, overMaxWords, overMaxModes))
	if len(i.items) == 0 { // a hint without values is written, too, because the file sets a hint at this level
		i.always(word("mode", hintWords[0]))
	}
	return i
}

func classItems(classes map[failure.Class]policy.ClassSpec) item {
	all := mapping("classes")
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c := classes[name]
		m := mapping(string(name), word("is", string(c.Is)))
		m.add(settingsItems(&c.Settings)...)
		m.add(mapping("messages", word("retrying", c.Retrying), word("dead", c.Dead), word("notified", c.Notified)), word("operator", c.Operator))
		if info, ok := failure.InfoOf(name); ok {
			m.comment = info.Summary
		}
		all.always(m)
	}
	return all
}

func kindItems(kinds map[string]policy.KindSpec) item {
	all := mapping("kinds")
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		m := mapping(name, append(runItems(&k.Runs), settingsItems(&k.Settings)...)...)
		classes := mapping("classes")
		for _, class := range slices.Sorted(maps.Keys(k.Classes)) {
			s := k.Classes[class]
			classes.always(mapping(string(class), settingsItems(&s)...))
		}
		m.add(classes)
		all.always(m)
	}
	return all
}

func ruleItems(rules []policy.RuleSpec) item {
	all := list("rules")
	for _, rule := range rules {
		m := mapping("", word("name", rule.Name), wordList("kinds", rule.Kinds))
		if rule.When != nil {
			m.always(whenItem(rule.When))
		}
		m.add(settingsItems(&rule.Settings)...)
		m.add(word("queue", rule.Queue), integer("priority", rule.Priority), textsItem("overrides", rule.Overrides))
		if rule.Hold != nil {
			hold := mapping("hold", word("message", rule.Hold.Message), word("notify", rule.Hold.Notify))
			m.always(hold)
		}
		all.always(m)
	}
	return all
}

func wordList[S ~string](key string, words []S) item {
	l := list(key)
	l.inline = true
	for _, w := range words {
		l.add(word("", string(w)))
	}
	return l
}

func textsItem[K ~string](key string, texts map[K]string) item {
	m := mapping(key)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		m.always(item{key: string(name), shape: yamlfile.Text, text: texts[name]})
	}
	return m
}

func rolloutItem(o *policy.Rollout) item {
	m := mapping("rollout", word("stage", o.Stage), choiceOf("mode", o.Mode, modeWords, modes), wordList("enforce", o.Enforce), wordList("kinds", o.Kinds))
	stages := mapping("stages")
	for _, name := range slices.Sorted(maps.Keys(o.Stages)) {
		s := o.Stages[name]
		stage := flow(name, choiceOf("mode", s.Mode, modeWords, modes), wordList("enforce", s.Enforce), wordList("kinds", s.Kinds))
		if len(stage.items) == 0 {
			stage.always(word("mode", modeWords[0]))
		}
		stages.always(stage)
	}
	m.add(mapping("baseline", settingsItems(&o.Baseline)...), stages)
	return m
}

func wordItems(w *policy.Words) item {
	return comment("Names that other systems use for states, classes and error fields.", mapping("words",
		textsItem("states", w.States), textsItem("classes", w.Classes), textsItem("error", w.Error)))
}

func whenItem(when policy.Condition) item {
	i := item{key: "when", shape: yamlfile.Text, text: strings.TrimSpace(when.String())}
	if c, ok := when.(*condition); ok {
		i.same = c.plain
	}
	return i
}
