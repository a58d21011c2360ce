package policyfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/yamlfile"
)

const backoffWanted = "a mapping such as {first: 30s, factor: 2, cap: 1h, jitter: 20%} or {waits: [1m, 5m, 15m]}"

// backoff reads a back-off. A file gives a back-off as a list of waits, or as a first wait
// with a formula for later waits.
func (r *reader) backoff(into *backoff.Backoff) func(value) {
	return func(v value) {
		r.Fields(v, backoffWanted, []field{
			{"waits", r.waits(into)},
			{"past", yamlfile.Choice(r.Reader, &into.Past, pastWords, pasts)},
			{"first", r.duration(&into.First, waitMax)},
			{"factor", r.factor(&into.Factor)},
			{"cap", r.duration(&into.Cap, waitMax)},
			{"floor", r.duration(&into.Floor, waitMax)},
			{"jitter", r.jitter(into)},
		})
		if v.Shape != yamlfile.Mapping {
			return
		}
		switch waits, first := v.Get("waits"), v.Get("first"); {
		case waits != nil && first != nil:
			r.Addf(first.Pos, "%s has both \"waits\" and \"first\"; keep the list, or the first wait that grows by a factor", v.Path)
			into.First, into.Factor = 0, 0 // valid values, so that no further mistake is reported
		case waits == nil && first == nil:
			r.Addf(v.Pos, "%s names no wait; write %s", v.Path, strings.TrimPrefix(backoffWanted, "a mapping such as "))
			v.Shape = yamlfile.Invalid
		case first != nil:
			into.Formula = backoff.Exponential
		}
	}
}

var (
	pastWords = []string{"repeat", "stop"}
	pasts     = []backoff.Past{backoff.Repeat, backoff.Stop}
)

func (r *reader) waits(b *backoff.Backoff) func(value) {
	return func(v value) {
		if v.Shape == yamlfile.List && (len(v.Items) == 0 || len(v.Items) > waitsMax) {
			r.Addf(v.Pos, "%s must hold 1 to %d durations, found %d; the last one repeats, and \"retry: false\" switches retries off",
				v.Path, waitsMax, len(v.Items))
			return
		}
		yamlfile.ListOf(r.Reader, &b.Waits, "a list of durations such as [1m, 5m, 15m]", func(into *time.Duration) func(value) {
			return r.duration(into, waitMax)
		})(v)
	}
}

func (r *reader) factor(into *float64) func(value) {
	return func(v value) {
		const want = "a number from 1 to 1000 such as 2 or 1.5"
		f, err := strconv.ParseFloat(v.Text, 64)
		if v.Shape != yamlfile.Number || err != nil || !(f >= 1 && f <= backoff.FactorMax) {
			r.Mismatch(v, want, "")
			return
		}
		*into = f
	}
}

const jitterWanted = "one of none, full, equal, decorrelated, a share such as 20%, or a mapping such as {add: 1s}"

var (
	jitterWords = []string{"none", "full", "equal", "decorrelated"}
	jitters     = []backoff.Jitter{backoff.None, backoff.Full, backoff.Equal, backoff.Decorrelated}
)

func (r *reader) jitter(b *backoff.Backoff) func(value) {
	return func(v value) {
		switch {
		case v.Shape == yamlfile.Mapping:
			b.Jitter = backoff.Additive
			r.Fields(v, jitterWanted, []field{{"add", r.duration(&b.Spread, waitMax)}})
		case v.Shape == yamlfile.Text && strings.HasSuffix(v.Text, "%"), v.Shape == yamlfile.Number:
			b.Jitter = backoff.Percent
			r.percent(&b.Percent, ", or one of none, full, equal and decorrelated")(v)
		case v.Shape == yamlfile.Text && slices.Contains(jitterWords, v.Text):
			b.Jitter = jitters[slices.Index(jitterWords, v.Text)]
		default:
			r.Mismatch(v, jitterWanted, suggest.DidYouMean(v.Text, jitterWords))
		}
	}
}

// percent reads a percentage that is above 0 and at most 100 %.
func (r *reader) percent(into *float64, more string) func(value) {
	want := "a share such as 20%" + more
	return func(v value) {
		digits, ok := strings.CutSuffix(v.Text, "%")
		share, err := strconv.ParseFloat(digits+"e-2", 64) // the decimal point is moved in the text, so that 7% becomes exactly 0.07
		switch {
		case v.Shape == yamlfile.Number && !ok:
			r.Mismatch(v, want, "; write it with the sign %")
		case v.Shape != yamlfile.Text || !ok || err != nil || strings.Trim(digits, "0123456789.") != "" || !(share > 0 && share <= 1):
			r.Mismatch(v, want, "; it must be above 0% and at most 100%")
		default:
			*into = share
		}
	}
}

// showPercent formats a share as a percentage. Like percent, it moves the decimal point in
// the text.
func showPercent(share float64) string {
	whole, part, _ := strings.Cut(strconv.FormatFloat(share, 'f', -1, 64), ".")
	part += strings.Repeat("0", max(0, 2-len(part)))
	s := strings.TrimLeft(whole+part[:2], "0")
	if s == "" {
		s = "0"
	}
	if part = strings.TrimRight(part[2:], "0"); part != "" {
		s += "." + part
	}
	return s + "%"
}
