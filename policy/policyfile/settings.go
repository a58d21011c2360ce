package policyfile

import (
	"math/big"
	"slices"
	"strings"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/yamlfile"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

const settingsWanted = "a mapping such as {max_retries: 3, backoff: {waits: [1m, 5m, 15m]}}"

// settings returns the keys of a file that say how failures are retried. Every level of a
// policy has these keys.
func (r *reader) settings(v value, s *policy.Settings) []field {
	return []field{
		{"retry", pointer(&s.Retry, r.Boolean)},
		{"max_retries", pointer(&s.MaxRetries, r.retries)},
		{"max_attempts", func(attempts value) { r.attempts(attempts, v, &s.MaxRetries) }},
		{"max_total_retries", pointer(&s.MaxTotalRetries, r.retries)},
		{"handovers", pointer(&s.HandOvers, func(into *int) func(value) {
			return r.Integer(into, 0, policy.HandOversMax, "")
		})},
		{"backoff", pointer(&s.Backoff, r.backoff)},
		{"count", pointer(&s.Count, r.count)},
		{"hint", pointer(&s.Hint, r.hint)},
		{"max_cost", pointer(&s.MaxCost, r.dollars)},
		{"verdict", r.verdict(&s.Verdict)},
		{"escalate", pointer(&s.Escalate, r.escalation)},
	}
}

// fewWaits reports a number of retries that the waits end before.
func (r *reader) fewWaits(v value, s *policy.Settings) {
	if b := s.Backoff; b != nil && s.MaxRetries != nil && b.Past == backoff.Stop && len(b.Waits) > 0 && *s.MaxRetries > len(b.Waits) {
		r.Addf(v.Get("backoff").Pos, "%s.max_retries is %d, but past: stop ends the retries after the last of the waits, and their number is %d; "+
			"add waits, or leave out past", v.Path, *s.MaxRetries, len(b.Waits))
	}
}

// run returns the keys of a file for the runs of jobs. The default and each kind have these keys.
func (r *reader) run(s *policy.RunSpec) []field {
	return []field{
		{"timeout", r.Duration(&s.Timeout, timeoutMin, policy.TimeoutMax)},
		{"max_crashes", r.Integer(&s.MaxCrashes, 1, job.MaxCrashes, "")},
		{"codes", func(v value) {
			r.Fields(v, "a mapping such as {time_limit: FFMPEG_TIMEOUT, command: FFMPEG_ERROR}", []field{
				{"time_limit", r.code(&s.Codes.TimeLimit)},
				{"missing_input", r.code(&s.Codes.MissingInput)},
				{"command", r.code(&s.Codes.Command)},
			})
		}},
	}
}

// code reads the code of a failure.
func (r *reader) code(into *string) func(value) {
	return func(v value) {
		r.NonEmpty(into)(v)
		if len(*into) > failure.CodeMax || strings.ContainsAny(*into, " \t\n") {
			r.Addf(v.Pos, "%s is the code %s; it must be one word of at most %d bytes", v.Path, yamlfile.Quote(yamlfile.Clip(*into)), failure.CodeMax)
		}
	}
}

// onlySettings reads a mapping that may only contain settings.
func (r *reader) onlySettings(into *policy.Settings) func(value) {
	return func(v value) { r.Fields(v, settingsWanted, r.settings(v, into)) }
}

func (r *reader) retries(into *int) func(value) {
	return r.Integer(into, retriesMin, retriesMax, "")
}

// attempts reads max_attempts, which is one more than max_retries. A file may contain both
// if they agree.
func (r *reader) attempts(v, owner value, retries **int) {
	n := 0
	r.Integer(&n, attemptsMin, attemptsMax, "")(v)
	switch given := owner.Get("max_retries"); {
	case n == 0: // the value is wrong, and this was already reported
	case *retries != nil && **retries != n-1:
		r.Addf(v.Pos, "%s is %d, but \"max_retries: %d\" means %d executions; keep one of the two", v.Path, n, **retries, **retries+1)
	case *retries == nil && given == nil:
		n--
		*retries = &n
	}
}

func (r *reader) count(into *policy.Count) func(value) {
	return yamlfile.Choice(r.Reader, into, countWords, counts)
}

var (
	countWords = []string{"class", "total"}
	counts     = []policy.Count{policy.PerClass, policy.Total}
)

// verdicts returns the verdicts that a policy may give to a class.
func verdicts() (words []string, meanings []failure.Verdict) {
	all := []failure.Verdict{
		failure.VerdictRetry, failure.VerdictThrottle, failure.VerdictQuota,
		failure.VerdictDependencyDown, failure.VerdictPermanent, failure.VerdictUnknown,
	}
	for _, v := range all {
		words = append(words, string(v))
		meanings = append(meanings, failure.Verdict(v))
	}
	return words, meanings
}

func (r *reader) verdict(into *failure.Verdict) func(value) {
	words, meanings := verdicts()
	return yamlfile.Choice(r.Reader, into, words, meanings)
}

const dollarsWanted = "an amount in US dollars from 0 to 1000000 such as 0.25"

// dollars reads an amount in dollars and converts it exactly to millionths.
func (r *reader) dollars(into *int64) func(value) {
	return func(v value) {
		amount, ok := new(big.Rat).SetString(v.Text)
		if v.Shape != yamlfile.Number || !ok || !slices.ContainsFunc([]byte(v.Text), isDigit) {
			r.Mismatch(v, dollarsWanted, "")
			return
		}
		amount.Mul(amount, big.NewRat(microsDollar, 1))
		switch {
		case amount.Sign() < 0 || amount.Cmp(big.NewRat(costMax*microsDollar, 1)) > 0:
			r.Mismatch(v, dollarsWanted, "")
		case !amount.IsInt():
			r.Mismatch(v, dollarsWanted, "; the smallest part is 0.000001")
		default:
			*into = amount.Num().Int64()
		}
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (r *reader) escalation(into *policy.Escalation) func(value) {
	return func(v value) {
		r.Fields(v, "a mapping such as {queue: high-memory, priority: 1, after: 1}", []field{
			{"queue", r.queue(&into.Queue)},
			{"priority", r.Integer(&into.Priority, priorityMin, priorityMax, "")},
			{"after", r.Integer(&into.After, afterMin, afterMax, "")},
		})
	}
}

// queue reads the name of a queue.
func (r *reader) queue(into *string) func(value) { return r.name("queue", into) }

// name reads the name of a queue or kind.
func (r *reader) name(thing string, into *string) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Text && !yamlfile.IsName(v.Text) {
			r.Addf(v.Pos, "%s is the %s name %s; it must be 1 to %d of a-z, 0-9, '_', '.' and '-', starting with a letter or digit",
				v.Path, thing, yamlfile.Quote(v.Text), yamlfile.NameMax)
			return
		}
		r.Words(into)(v)
	}
}

func (r *reader) hint(into *policy.Hint) func(value) {
	return func(v value) {
		r.Fields(v, "a mapping such as {mode: floor, max: 24h}", []field{
			{"mode", yamlfile.Choice(r.Reader, &into.Mode, hintWords, hintModes)},
			{"jitter", r.hintJitter(&into.Jitter)},
			{"jitter_min", r.Duration(&into.JitterMin, hintMin, waitMax)},
			{"max", r.Duration(&into.Max, hintMin, waitMax)},
			{"beyond", yamlfile.Choice(r.Reader, &into.OverMax, overMaxWords, overMaxModes)},
		})
	}
}

var (
	hintWords    = []string{"floor", "cap", "off"}
	hintModes    = []policy.HintMode{policy.HintFloor, policy.HintCap, policy.HintOff}
	overMaxWords = []string{"dead", "wait"}
	overMaxModes = []policy.OverMaxMode{policy.OverMaxDead, policy.OverMaxWait}
)

// hintJitter reads a percentage or the word none.
func (r *reader) hintJitter(into *float64) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.Text && v.Text == jitterWords[0] {
			*into = policy.NoJitter
			return
		}
		r.percent(into, ", or none")(v)
	}
}
