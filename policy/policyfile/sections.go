package policyfile

import (
	"strconv"
	"strings"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/policy"
)

// policy reads the top level of the file.
func (r *reader) policy(v value, s *policy.Spec, extends *string) {
	r.Fields(v, "a mapping", []field{
		{"version", r.version},
		{"name", r.name("policy", &s.Name)},
		{"extends", r.NonEmpty(extends)},
		{"limits", func(v value) { r.limits(v, &s.Limits) }},
		{"rollout", func(v value) { r.rollout(v, &s.Rollout) }},
		{"default", func(v value) { r.Fields(v, settingsWanted, append(r.run(&s.Runs), r.settings(v, &s.Default)...)) }},
		{"classes", func(v value) { r.classes(v, s) }},
		{"kinds", func(v value) { r.kinds(v, s) }},
		{"rules", func(v value) { r.rules(v, s) }},
		{"classify", func(v value) {
			r.classify(v, &s.Classify)
			r.repeatedCodes(v, s.Classify.Codes)
		}},
		{"words", func(v value) { r.words(v, &s.Words) }},
	})
}

func (r *reader) version(v value) {
	if v.Shape != yamlfile.Number || v.Text != strconv.Itoa(Version) {
		r.Mismatch(v, strconv.Itoa(Version)+", the version of this format", "")
	}
}

func (r *reader) limits(v value, l *policy.Limits) {
	r.Fields(v, "a mapping such as {max_attempts: 100, max_age: 7d, max_wait: 24h}", []field{
		{"max_attempts", r.Integer(&l.MaxAttempts, attemptsMin, attemptsMax, "")},
		{"max_age", r.Duration(&l.MaxAge, ageMin, ageMax)},
		{"max_wait", r.Duration(&l.MaxWait, ageMin, waitMax)},
	})
}

func (r *reader) classes(v value, s *policy.Spec) {
	r.named(v, true, func(name string, v value) {
		var c policy.ClassSpec
		r.Fields(v, settingsWanted, append([]field{
			{"is", r.class(&c.Is)},
			{"messages", func(v value) { r.messages(v, &c) }},
			{"operator", r.NonEmpty(&c.Operator)},
		}, r.settings(v, &c.Settings)...))
		put(&s.Classes, failure.Class(name), c)
	})
}

func (r *reader) messages(v value, c *policy.ClassSpec) {
	r.Fields(v, "a mapping such as {retrying: …, dead: …}", []field{
		{"retrying", r.NonEmpty(&c.Retrying)},
		{"dead", r.NonEmpty(&c.Dead)},
		{"notified", r.NonEmpty(&c.Notified)},
	})
}

func (r *reader) kinds(v value, s *policy.Spec) {
	r.Named(v, "a mapping such as {render: {max_attempts: 3}}", "kind", func(name string, _ position, v value) {
		var k policy.KindSpec
		r.Fields(v, settingsWanted, append([]field{
			{"classes", func(v value) {
				r.named(v, false, func(name string, v value) {
					var s policy.Settings
					r.onlySettings(&s)(v)
					put(&k.Classes, failure.Class(name), s)
				})
			}},
		}, append(r.run(&k.Runs), r.settings(v, &k.Settings)...)...))
		put(&s.Kinds, name, k)
	})
}

// named reads a mapping whose keys are classes. The second argument says whether a key may
// define a new class.
func (r *reader) named(v value, defines bool, read func(name string, v value)) {
	if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.Mapping, "a mapping such as {NetworkTimeout: {max_retries: 3}}") {
		return
	}
	for _, e := range v.Entries {
		r.checkClass(e.Pos, e.Key)
		r.references = append(r.references, reference{e.Pos, v.Path, e.Key, defines})
		read(e.Key, value{Node: e.Value, Path: yamlfile.Join(v.Path, e.Key)})
	}
}

// checkClass reports a text that is not a valid name of a class.
func (r *reader) checkClass(at position, name string) {
	if !isClassName(name) {
		r.Addf(at, "class name %s must be 1 to %d letters, digits, '_', '.' and '-', starting with a letter", yamlfile.Quote(name), failure.CodeMax)
	}
}

func isClassName(s string) bool { return s != "" && len(s) <= failure.CodeMax && isWord(s) }

func isWord(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !isDigit(c) && c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return true
}

// class reads the name of a class.
func (r *reader) class(into *failure.Class) func(value) {
	return func(v value) {
		var name string
		r.NonEmpty(&name)(v)
		if name != "" {
			r.checkClass(v.Pos, name)
			r.refer(v.Pos, v.Path, name)
			*into = failure.Class(name)
		}
	}
}

func (r *reader) classList(into *[]failure.Class) func(value) {
	return func(v value) {
		yamlfile.ListOf(r.Reader, into, "a list of classes such as [NetworkTimeout]", r.class)(v)
		r.NoRepeats(v)
	}
}

func (r *reader) rollout(v value, o *policy.Rollout) {
	r.Fields(v, "a mapping such as {mode: observe, enforce: [NetworkTimeout]}", []field{
		{"stage", r.stepped(r.name("stage", &o.Stage))},
		{"mode", r.stepped(r.mode(&o.Mode))},
		{"enforce", r.stepped(r.classList(&o.Enforce))},
		{"kinds", r.stepped(r.kindList(&o.Kinds))},
		{"baseline", r.onlySettings(&o.Baseline)},
		{"stages", func(v value) {
			r.Named(v, "a mapping such as {beta: {mode: enforce}}", "stage", func(name string, _ position, v value) {
				var stage policy.Stage
				r.Fields(v, "a mapping such as {mode: observe, enforce: [NetworkTimeout]}", []field{
					{"mode", r.mode(&stage.Mode)},
					{"enforce", r.classList(&stage.Enforce)},
					{"kinds", r.kindList(&stage.Kinds)},
				})
				put(&o.Stages, name, stage)
			})
		}},
	})
}

// stepped records that the file sets the active stage of the roll-out.
func (r *reader) stepped(read func(value)) func(value) {
	return func(v value) {
		r.step = r.step || v.Shape != yamlfile.Null
		read(v)
	}
}

var (
	modeWords = []string{"enforce", "observe"}
	modes     = []policy.Mode{policy.Enforce, policy.Observe}
)

func (r *reader) mode(into *policy.Mode) func(value) {
	return yamlfile.Choice(r.Reader, into, modeWords, modes)
}

func (r *reader) rules(v value, s *policy.Spec) {
	if v.Shape == yamlfile.Null || !r.Is(v, yamlfile.List, "a list of rules") {
		return
	}
	if len(v.Items) > rulesMax {
		r.Addf(v.Items[rulesMax].Pos, "%s must hold at most %d rules, found %d", v.Path, rulesMax, len(v.Items))
		return
	}
	s.Rules = make([]policy.RuleSpec, len(v.Items))
	for i := range v.Items {
		r.rule(v.Item(i), &s.Rules[i])
	}
}

const ruleWanted = "a mapping such as {name: long, when: attrs.duration_seconds >= 6*3600, max_retries: 1}"

func (r *reader) rule(v value, rule *policy.RuleSpec) {
	r.Fields(v, ruleWanted, append([]field{
		{"name", r.name("rule", &rule.Name)},
		{"kinds", r.kindList(&rule.Kinds)},
		{"when", r.when(&rule.When)},
		{"queue", r.queue(&rule.Queue)},
		{"priority", r.Integer(&rule.Priority, priorityMin, priorityMax, "")},
		{"overrides", r.texts(&rule.Overrides, "a mapping such as {model: small}")},
		{"hold", pointer(&rule.Hold, r.hold)},
	}, r.settings(v, &rule.Settings)...))
}

func (r *reader) hold(into *policy.Hold) func(value) {
	return func(v value) {
		r.Fields(v, "a mapping such as {message: Please contact support, notify: administrator}", []field{
			{"message", r.NonEmpty(&into.Message)},
			{"notify", r.NonEmpty(&into.Notify)},
		})
	}
}

// repeatedCodes reports codes that can never win, because an earlier entry of the file has the same code
// for all kinds.
func (r *reader) repeatedCodes(v value, codes []classify.CodeRule) {
	first := map[string]*classify.CodeRule{}
	for i := range codes {
		rule := &codes[i]
		key := strings.ToLower(rule.Code)
		if earlier := first[key]; earlier == nil {
			first[key] = rule
		} else if earlier.Class != rule.Class && len(earlier.Kinds) == 0 && rule.Code != "" {
			r.Addf(v.Pos, "%s.codes: the code %s gets the class %s from an earlier entry, so its class %s never applies: remove one of the two",
				v.Path, yamlfile.Quote(rule.Code), earlier.Class, rule.Class)
		}
	}
}

func (r *reader) words(v value, w *policy.Words) {
	var classes map[string]string
	r.Fields(v, "a mapping such as {states: {dead: FAILED}}", []field{
		{"states", r.texts(&w.States, "a mapping such as {dead: FAILED}")},
		{"classes", r.texts(&classes, "a mapping such as {InputExceedsLimits: VideoTooLong}")},
		{"error", r.texts(&w.Error, "a mapping such as {class: type, at: timestamp}")},
	})
	for class, word := range classes {
		put(&w.Classes, failure.Class(class), word)
	}
}

// put adds an entry to a map. It creates the map if the map is nil.
func put[K comparable, V any](m *map[K]V, key K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = v
}
