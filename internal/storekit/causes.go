package storekit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// CauseOf returns the cause of a failure, without counts. The failure is nil if the job died without one.
func CauseOf(f *job.Failure) store.RedriveCause {
	if f == nil {
		return store.RedriveCause{}
	}
	return store.RedriveCause{Fingerprint: f.Fingerprint, Class: f.Class, Message: GroupMessage(f.Message)}
}

// AddCauses adds counts to the causes of a redrive. It does not change its arguments.
func AddCauses(causes []store.RedriveCause, more ...store.RedriveCause) []store.RedriveCause {
	causes = slices.Clone(causes)
	for _, m := range more {
		// The causes are stored as JSON, which keeps valid UTF-8 only.
		m.Fingerprint, m.Class, m.Message = valid(m.Fingerprint), valid(m.Class), valid(m.Message)
		i := slices.IndexFunc(causes, func(c store.RedriveCause) bool { return c.Fingerprint == m.Fingerprint })
		if i < 0 {
			causes = append(causes, m)
		} else {
			addCause(&causes[i], m)
		}
	}
	slices.SortStableFunc(causes, func(a, b store.RedriveCause) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Again+b.Other+b.Dead, a.Again+a.Other+a.Dead), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	if len(causes) <= store.RedriveCausesMax {
		return causes
	}
	rest := store.RedriveCause{}
	for _, c := range causes[store.RedriveCausesMax-1:] {
		addCause(&rest, c)
	}
	return append(causes[:store.RedriveCausesMax-1], rest)
}

func addCause(sum *store.RedriveCause, c store.RedriveCause) {
	sum.Again, sum.Other, sum.Dead = sum.Again+c.Again, sum.Other+c.Other, sum.Dead+c.Dead
}

// rank returns 1 for the entry without a fingerprint, which is the last one of a list, and otherwise 0.
func rank(c store.RedriveCause) int {
	if c.Fingerprint == "" {
		return 1
	}
	return 0
}

// valid returns a text with each run of invalid UTF-8 replaced by U+FFFD.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
