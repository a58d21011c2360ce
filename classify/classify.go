// Package classify puts evidence into classes. In comes failure.Evidence and the kind of the job, with the rules of a
// policy beside the built-in ones; out comes a Classification: the class, the rule that decided, what it read and what
// lost against it. It must never read a clock, do I/O or look at an error itself, and the same evidence gives the
// same answer with the same rules.
package classify

import (
	"time"

	"github.com/redrive/redrive/failure"
)

// Classify puts evidence into a class. It looks at everything that there is and
// takes the most specific: marks, codes, names of types, typed evidence, texts.
// The kind is that of the job, for rules that are limited to kinds. Classify
// never fails, its time is bounded, and the same evidence gives the same answer.
func (c *Classifier) Classify(e *failure.Evidence, kind string) (out Classification) {
	if c.plain(e, &out) {
		return out
	}
	r, _ := c.pool.Get().(*reader)
	if r == nil {
		r = &reader{}
	}
	r.start(c, e, kind)
	r.classify(&out)
	r.release()
	c.pool.Put(r)
	return out
}

// classify gathers hits until one is found that no later one can beat. Evidence that is one typed fact and nothing else never gets
// here: see plain.go. The steps, and where they are:
//
//	readOwn         the policy's matchers, codes, types, statuses and exits      read.go
//	readCodes       errno, SQLSTATE, gRPC, names of types, service codes         read.go, code.go
//	readTyped       HTTP status, timeout, signal, exit code                      read.go
//	readTexts       phrases in message, output and details, if typed evidence    text.go, matches.go
//	                leaves anything open; the place of a match counts            context.go, quotes.go
//	overrule        a typed fact about the connection wins against a bug
//	onlyFact        built-in words beside one typed fact are taken back          plain.go
//	best            the heaviest hit                                             hit.go
//	classification  its class, and a rate or a quota by the time in the text     refine
//	unsaid, weigh   without a sure rule, all words are weighed                   generic.go, weigh.go
//	mark            the handler's own words win
func (r *reader) classify(out *Classification) {
	r.readOwn()
	r.readCodes()
	r.readTyped()
	if !r.settled() {
		hint, traits := r.hint, r.traits
		r.readTexts()
		r.overrule()
		r.onlyFact(hint, traits)
	}
	best := r.best()
	r.classification(out, best)
	if !r.unsaid(out, best) && r.weighs(best) {
		r.weigh(out, best)
	}
	r.mark(out)
}

// settled reports that typed evidence says so exactly what happened that the
// text would only repeat it.
func (r *reader) settled() bool {
	if r.c.own != nil || r.e.Class != "" && !r.e.Permanent {
		return r.c.own == nil
	}
	best := r.best()
	return best >= 0 && r.hits[best].weight >= wStrong && r.exact
}

// overrule lets a typed fact about the connection win against built-in words for a
// bug: "read the answer: unexpected EOF" reads like an answer that nobody can parse,
// and the error says that it broke off.
func (r *reader) overrule() {
	most := 0
	for i := range r.hits {
		if h := &r.hits[i]; h.class == failure.NetworkTimeout && h.rank >= RankTyped && h.weight >= wGeneric {
			most = max(most, h.weight)
		}
	}
	if most == 0 {
		return
	}
	for i := range r.hits {
		if h := &r.hits[i]; h.class == failure.UnknownError && h.rank == RankPattern && h.order == 0 {
			h.weight = min(h.weight, most) // the rank decides then
		}
	}
}

// classification writes down what hit best says, and what it beat.
func (r *reader) classification(out *Classification, best int) {
	*out = Classification{Class: failure.UnknownError, Hint: r.hint, Code: r.code()}
	if waits := r.hint > 0 || r.e.RetryAfter > 0; best >= 0 && (!waits || r.hits[best].weight >= wFaint) {
		h := &r.hits[best]
		out.Class, out.Rank, out.Rule, out.Saw = h.class, h.rank, h.rule, h.saw
		out.Line = r.line(h)
		r.refine(out, h)
		r.beaten(out, best)
	} else if waits {
		out.Class, out.Rank, out.Rule = failure.RateLimitExceeded, RankText, "hint"
	}
	out.Verdict = out.Class.Verdict()
}

// beaten lists the strongest hits beside best, each rule once.
func (r *reader) beaten(out *Classification, best int) {
	if r.ordered {
		r.beatenInOrder(out, best)
		return
	}
	var top [len(out.Outranked)]int // 1 + the hit, 0 for none
	least := uint64(0)              // that is still among them
	for i := range r.hits {
		if h := &r.hits[i]; h.key > least && i != best && h.weight > 0 && h.rule != out.Rule {
			r.insert(&top, i)
			if last := top[len(top)-1]; last > 0 {
				least = r.hits[last-1].key
			}
		}
	}
	for n, i := range top {
		if i > 0 {
			h := &r.hits[i-1]
			out.Outranked[n] = Outranked{Rule: h.rule, Class: h.class, Rank: h.rank, Saw: h.saw}
		}
	}
}

// insert puts a hit into the list of the strongest hits. The list has at most one hit of each rule.
func (r *reader) insert(top *[3]int, hit int) {
	h := &r.hits[hit]
	at, end := len(top), len(top)-1 // where it goes, and of what it takes the place
	for i, t := range top {
		if at == len(top) && (t == 0 || h.key > r.hits[t-1].key) {
			at = i
		}
		if t == 0 || r.hits[t-1].rule == h.rule {
			end = i
			break
		}
	}
	if at > end {
		return
	}
	for ; end > at; end-- {
		top[end] = top[end-1]
	}
	top[at] = hit + 1
}

// beatenInOrder is beaten where the order of a policy's rules counts.
func (r *reader) beatenInOrder(out *Classification, best int) {
	for n := range out.Outranked {
		next := -1
		for i := range r.hits {
			h := &r.hits[i]
			if i == best || h.weight <= 0 || next >= 0 && !h.beats(&r.hits[next]) {
				continue // numbers are compared before names
			}
			if h.rule != out.Rule && !containsRule(out.Outranked[:n], h.rule) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		h := &r.hits[next]
		out.Outranked[n] = Outranked{Rule: h.rule, Class: h.class, Rank: h.rank, Saw: h.saw}
	}
}

func containsRule(beat []Outranked, rule string) bool {
	for i := range beat {
		if beat[i].Rule == rule {
			return true
		}
	}
	return false
}

// shortWait is the longest wait that still speaks of a rate and not of a quota.
const shortWait = time.Hour

// refine tells a rate from a quota by the time that the text speaks of.
func (r *reader) refine(out *Classification, h *hit) {
	hint := max(r.hint, r.e.RetryAfter)
	soon := hint > 0 && hint <= shortWait
	switch {
	case out.Class == failure.QuotaExceeded && (soon || r.traits&perMoment != 0 && (h.trait|r.traits)&perPeriod == 0):
		out.Class, out.Rule = failure.RateLimitExceeded, "rate.by-time"
	case out.Class == failure.RateLimitExceeded && r.traits&perPeriod != 0 && r.traits&perMoment == 0 && !soon:
		out.Class, out.Rule = failure.QuotaExceeded, "quota.by-time"
	case soon && h.rule == "http.403":
		out.Class, out.Rule = failure.RateLimitExceeded, "rate.by-time"
	}
}

// mark lets the handler's own words win. Snoozing is no failure and left to the
// policy; why the context ended is, too.
func (r *reader) mark(out *Classification) {
	e := r.e
	if out.Code == "" {
		out.Code = e.Code
	}
	outrank := func(rule, saw string, class failure.Class, verdict failure.Verdict) {
		if out.Rank > RankNone {
			copy(out.Outranked[1:], out.Outranked[:2])
			out.Outranked[0] = Outranked{Rule: out.Rule, Class: out.Class, Rank: out.Rank, Saw: out.Saw}
		}
		out.Rank, out.Rule, out.Saw, out.Class, out.Verdict = RankMark, rule, saw, class, verdict
	}
	switch {
	case e.Cancel:
		outrank("mark.cancel", "", failure.Cancelled, failure.VerdictCancelled)
	case e.Class != "" && e.Permanent:
		outrank("mark.permanent", string(e.Class), e.Class, failure.VerdictPermanent)
	case e.Class != "":
		outrank("mark.class", string(e.Class), e.Class, e.Class.Verdict())
	case e.Permanent:
		outrank("mark.permanent", "", out.Class, failure.VerdictPermanent)
	case e.Dependency != "":
		outrank("mark.dependency", e.Dependency, failure.TemporaryServiceError, failure.VerdictDependencyDown)
	case e.RetryMark && !out.Verdict.Retriable():
		outrank("mark.retry_after", "", failure.RateLimitExceeded, failure.VerdictThrottle)
	}
}
