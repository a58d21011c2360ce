package decide

import (
	"slices"
	"strings"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Terms returns how a policy treats crashes and deadlines of the jobs of a kind. The store
// ends such jobs, and its process may not know the policy, so the terms are stored with the
// job. They contain only the following settings of the policy file, and only where the
// policy is enforced. Without these settings, the result is the zero Terms:
//
//   - the class that classify.codes gives to the codes lease_lost and expired;
//   - the messages of the class of a crash;
//   - the backoff of that class: its first wait and its cap are the spread.
func Terms(p *policy.Policy, kind string) job.Terms {
	var t job.Terms
	lost := failure.Crash
	if class, ok := classOf(p, kind, job.CodeLeaseLost); ok {
		lost, t.Class = class, string(class)
	}
	if class, ok := classOf(p, kind, job.CodeExpired); ok {
		t.ExpiredClass = string(class)
	}
	if !p.Enforces(kind, lost) {
		return stored(t)
	}
	info := p.Info(lost)
	if builtin, known := failure.InfoOf(lost); !known || t.Class != "" {
		t.Retrying, t.Dead = info.Retrying, info.Dead
	} else {
		t.Retrying, t.Dead = unless(info.Retrying, builtin.Retrying), unless(info.Dead, builtin.Dead)
	}
	t.Notified = info.Notified
	spec := p.Spec()
	b := spec.Classes[lost].Backoff
	if own := spec.Kinds[kind].Classes[lost].Backoff; own != nil {
		b = own
	}
	if b != nil {
		spread(&t, b)
	}
	return stored(t)
}

// classOf returns the class that the rules in the policy file give to a code. ok is false if
// there is no such rule, or if the policy does not enforce the class.
func classOf(p *policy.Policy, kind, code string) (failure.Class, bool) {
	codes := p.Spec().Classify.Codes
	i := slices.IndexFunc(codes, func(r classify.CodeRule) bool {
		return strings.EqualFold(r.Code, code) && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind))
	})
	if i < 0 || !p.Enforces(kind, codes[i].Class) {
		return "", false
	}
	return codes[i].Class, true
}

// spread sets in the terms the time over which jobs are spread after a crash.
func spread(t *job.Terms, b *backoff.Backoff) {
	t.Spread, t.SpreadMax = b.First, b.Cap
	if b.Formula == backoff.Fixed && len(b.Waits) > 0 {
		t.Spread, t.SpreadMax = b.Waits[0], slices.Max(b.Waits)
	}
	t.Spread = min(t.Spread, job.SpreadLimit).Truncate(job.SpreadUnit)
	t.SpreadMax = min(t.SpreadMax, job.SpreadLimit).Truncate(job.SpreadUnit)
	if t.SpreadMax == 0 { // without a longest wait of the back-off, the spread has no maximum
		t.SpreadMax = max(t.Spread, job.SpreadMaxDefault)
	}
}

// stored returns terms in a form that the store accepts. If the terms are too long, stored
// leaves out their texts.
func stored(t job.Terms) job.Terms {
	if t.Validate() != nil {
		t = job.Terms{Spread: t.Spread, SpreadMax: t.SpreadMax}
	}
	return t
}

// unless returns the first text if it differs from the built-in one, and "" otherwise.
func unless(text, builtin string) string {
	if text == builtin {
		return ""
	}
	return text
}
