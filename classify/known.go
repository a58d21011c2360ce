package classify

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/redrive/redrive/failure"
)

// KnownCode is a code that says something by itself.
type KnownCode struct {
	Family string // "sqlstate", "grpc", "errno", "signal"
	Code   string // of a SQLSTATE two signs stand for all that begin so
	Class  failure.Class
}

// KnownCodes returns the codes that the built-in rules know, family by family, for
// the documentation. Statuses of HTTP and exit codes are numbers, which Classify
// tells. In a failure, evidence that is more specific decides before any of them.
func KnownCodes() []KnownCode {
	var all []KnownCode
	for _, c := range sqlClasses {
		all = append(all, KnownCode{"sqlstate", c.code, c.class})
	}
	for _, c := range grpcCodes {
		if c.class != "" {
			all = append(all, KnownCode{"grpc", c.name, c.class})
		}
	}
	for _, c := range errnoClasses {
		all = append(all, KnownCode{"errno", c.name, c.class})
	}
	for _, name := range slices.Sorted(maps.Keys(signalClasses)) {
		all = append(all, KnownCode{"signal", name, signalClasses[name].class})
	}
	return all
}

// KnownRule is a built-in rule for words.
type KnownRule struct {
	Subject string // the file in classify/rules, without its ending
	ID      string
	Class   failure.Class // "" changes only what other rules mean
	Phrases []string      // in the language of docs/policy.md
}

// KnownRules returns the built-in rules for words, subject by subject, for the documentation. Rules of one subject with
// the same id and class are one.
func KnownRules() []KnownRule {
	var all []KnownRule
	rules, _ := builtinRules() // a test reports mistakes
	for i := range rules {
		r := &rules[i]
		if r.file == "" { // of a table, see KnownCodes
			continue
		}
		subject := strings.TrimSuffix(path.Base(r.file), ".rules")
		at := slices.IndexFunc(all, func(k KnownRule) bool { return k.Subject == subject && k.ID == r.id && k.Class == r.class })
		if at < 0 {
			at = len(all)
			all = append(all, KnownRule{Subject: subject, ID: r.id, Class: r.class})
		}
		all[at].Phrases = append(all[at].Phrases, r.phrases...)
	}
	return all
}
