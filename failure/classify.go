package failure

import "time"

// Rank is the kind of evidence that a classification rests on. Of two pieces the
// more specific decides, which is mostly, but not always, the one of the higher
// rank: "insufficient quota" in a text says more than a status of 429.
type Rank uint8

// The ranks, from nothing to what the handler says itself.
const (
	RankNone    Rank = iota // nothing matched
	RankPattern             // words of the message
	RankText                // a code or a status that stands in the text
	RankTyped               // a status, an exit code, a timeout of a typed error
	RankType                // the name of a type
	RankCode                // a code of the other side, or of the handler
	RankCause               // why the context ended
	RankMark                // a mark of the handler
)

var rankNames = [...]string{"none", "pattern", "text", "typed", "type", "code", "cause", "mark"}

// String returns the rank's name, which is stored and append-only.
func (r Rank) String() string {
	if int(r) < len(rankNames) {
		return rankNames[r]
	}
	return "none"
}

// Classification is what a classifier makes of evidence.
type Classification struct {
	Class   Class
	Verdict Verdict
	Rank    Rank
	Rule    string        // stable id of the rule that decided, such as "http.429", "pg.40001", "rate.limit", "policy.phrases.2"
	Saw     string        // what it read: a value or a part of the text
	Code    string        // the handler's own code, or one derived: "http.503", "pg.40001", "errno.ECONNRESET"; "" is unknown
	Hint    time.Duration // a wait that the text asks for; 0 means no wait
	Line    string        // the line that decided, of what a process wrote; "" is another one's evidence
	Beat    [3]Beaten     // the strongest evidence that lost, the strongest first
}

// Beaten is evidence that lost against stronger evidence. The zero value is
// none.
type Beaten struct {
	Rule  string
	Class Class
	Rank  Rank
	Saw   string
}

// hit is one piece of evidence for a class.
type hit struct {
	rule   string
	class  Class
	code   string // the machine code that follows from it, "" for none
	saw    string
	rank   Rank
	weight int
	at     int32 // where in the text; later ones are nearer to the cause
	order  int32 // of a policy's own phrase or pattern, from 1: where it is written; 0 else
	trait  trait
	final  bool // of a class that must not be retried, see add
	from   source
	offset int32 // in the text, in bytes
	key    uint64
}

// source is the text that a hit is from.
type source uint8

const (
	fromElsewhere source = iota // the message, details, or no text
	fromStderr
	fromStdout
)

// score orders hits: of one weight those that must not be retried come first,
// because another attempt of them is lost, and of the rest the later.
func (h *hit) score() int {
	if h.final {
		return h.weight + failFast
	}
	return h.weight
}

// failFast is how much lighter evidence for a final class may be to still win.
const failFast = 3

func (h *hit) beats(other *hit) bool {
	if h.order > 0 && other.order > 0 && h.weight == other.weight && h.rank == other.rank {
		return h.order < other.order
	}
	if a, b := h.score(), other.score(); a != b {
		return a > b
	}
	if h.rank != other.rank {
		return h.rank > other.rank
	}
	return h.at > other.at
}

// retriable reports whether a built-in class is; others count as final, so that
// what a policy names wins ties.
func retriable(c Class) bool {
	switch c {
	case NetworkTimeout, RateLimitExceeded, TemporaryServiceError, ResourceConstraint, UnknownError, ProgramError, AttemptTimeout, Crash, Panic:
		return true
	default:
		return false
	}
}

// verdictOf is the verdict of a class, unknown for those that a policy defines.
func verdictOf(c Class) Verdict {
	for i := range classTable {
		if classTable[i].Class == c {
			return classTable[i].Verdict
		}
	}
	return VerdictUnknown
}

// Classify puts evidence into a class. It looks at everything that there is and
// takes the most specific: marks, codes, names of types, typed evidence, texts.
// The kind is that of the job, for rules that are limited to kinds. Classify
// never fails, its time is bounded, and the same evidence gives the same answer.
func (c *Classifier) Classify(e *Evidence, kind string) (out Classification) {
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

// classify gathers hits until one is found that no later one can beat.
func (r *reader) classify(out *Classification) {
	r.readOwn()
	r.readCodes()
	r.readTyped()
	if !r.settled() {
		r.readTexts()
		r.overrule()
	}
	r.classification(out, r.best())
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
		if h := &r.hits[i]; h.class == NetworkTimeout && h.rank >= RankTyped && h.weight >= wGeneric {
			most = max(most, h.weight)
		}
	}
	if most == 0 {
		return
	}
	for i := range r.hits {
		if h := &r.hits[i]; h.class == UnknownError && h.rank == RankPattern && h.order == 0 {
			h.weight = min(h.weight, most) // the rank decides then
		}
	}
}

// rate gives a hit a number: what beats another has the greater one, as long as
// the order of rules does not count.
func (h *hit) rate() {
	h.key = uint64(h.score()+1<<20)<<40 | uint64(h.rank)<<32 | uint64(uint32(h.at))
}

// best returns the strongest hit, of equal ones the first, -1 for none.
func (r *reader) best() int {
	best, most := -1, uint64(0)
	for i := range r.hits {
		h := &r.hits[i]
		switch h.rate(); {
		case r.ordered:
			if best < 0 || h.beats(&r.hits[best]) {
				best = i
			}
		case h.key > most:
			best, most = i, h.key
		}
	}
	return best
}

// classification writes down what hit best says, and what it beat.
func (r *reader) classification(out *Classification, best int) {
	*out = Classification{Class: UnknownError, Hint: r.hint, Code: r.code()}
	if waits := r.hint > 0 || r.e.RetryAfter > 0; best >= 0 && (!waits || r.hits[best].weight >= wFaint) {
		h := &r.hits[best]
		out.Class, out.Rank, out.Rule, out.Saw = h.class, h.rank, h.rule, h.saw
		out.Line = r.line(h)
		r.refine(out, h)
		r.beaten(out, best)
	} else if waits {
		out.Class, out.Rank, out.Rule = RateLimitExceeded, RankText, "hint"
	}
	out.Verdict = verdictOf(out.Class)
}

// beaten lists the strongest hits beside best, each rule once.
func (r *reader) beaten(out *Classification, best int) {
	if r.ordered {
		r.beatenInOrder(out, best)
		return
	}
	var top [len(out.Beat)]int // 1 + the hit, 0 for none
	least := uint64(0)         // that is still among them
	for i := range r.hits {
		if h := &r.hits[i]; h.key > least && i != best && h.weight > 0 && h.rule != out.Rule {
			r.rank(&top, i)
			if last := top[len(top)-1]; last > 0 {
				least = r.hits[last-1].key
			}
		}
	}
	for n, i := range top {
		if i > 0 {
			h := &r.hits[i-1]
			out.Beat[n] = Beaten{Rule: h.rule, Class: h.class, Rank: h.rank, Saw: h.saw}
		}
	}
}

// rank puts a hit among the strongest, of which one rule has no two.
func (r *reader) rank(top *[3]int, hit int) {
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
	for n := range out.Beat {
		next := -1
		for i := range r.hits {
			h := &r.hits[i]
			if i == best || h.weight <= 0 || next >= 0 && !h.beats(&r.hits[next]) {
				continue // numbers are compared before names
			}
			if h.rule != out.Rule && !named3(out.Beat[:n], h.rule) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		h := &r.hits[next]
		out.Beat[n] = Beaten{Rule: h.rule, Class: h.class, Rank: h.rank, Saw: h.saw}
	}
}

func named3(beat []Beaten, rule string) bool {
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
	case out.Class == QuotaExceeded && (soon || r.traits&perMoment != 0 && (h.trait|r.traits)&perPeriod == 0):
		out.Class, out.Rule = RateLimitExceeded, "rate.by-time"
	case out.Class == RateLimitExceeded && r.traits&perPeriod != 0 && r.traits&perMoment == 0 && !soon:
		out.Class, out.Rule = QuotaExceeded, "quota.by-time"
	case soon && h.rule == "http.403":
		out.Class, out.Rule = RateLimitExceeded, "rate.by-time"
	}
}

// mark lets the handler's own words win. Snoozing is no failure and left to the
// policy; why the context ended is, too.
func (r *reader) mark(out *Classification) {
	e := r.e
	if out.Code == "" {
		out.Code = e.Code
	}
	outrank := func(rule, saw string, class Class, verdict Verdict) {
		if out.Rank > RankNone {
			copy(out.Beat[1:], out.Beat[:2])
			out.Beat[0] = Beaten{Rule: out.Rule, Class: out.Class, Rank: out.Rank, Saw: out.Saw}
		}
		out.Rank, out.Rule, out.Saw, out.Class, out.Verdict = RankMark, rule, saw, class, verdict
	}
	switch {
	case e.Cancel:
		outrank("mark.cancel", "", Cancelled, VerdictCancelled)
	case e.Class != "" && e.Permanent:
		outrank("mark.permanent", string(e.Class), e.Class, VerdictPermanent)
	case e.Class != "":
		outrank("mark.class", string(e.Class), e.Class, verdictOf(e.Class))
	case e.Permanent:
		outrank("mark.permanent", "", out.Class, VerdictPermanent)
	case e.Dependency != "":
		outrank("mark.dependency", e.Dependency, TemporaryServiceError, VerdictDependencyDown)
	case e.RetryMark && !out.Verdict.Retriable():
		outrank("mark.retry_after", "", RateLimitExceeded, VerdictThrottle)
	}
}
