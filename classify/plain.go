package classify

import (
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
)

// Most failures of a program in Go are one typed fact: a connection that was
// reset, a deadline that passed, a SQLSTATE, a status that means one thing. What
// such a fact says, its text only repeats, so that there is no need to read it.

// plain classifies evidence that is one such fact and nothing else. It writes to
// where the result goes: to copy it would cost as much as to find it.
func (c *Classifier) plain(e *failure.Evidence, out *Classification) bool {
	return c.direct && fact(e, out) && c.builtin.quiet(e.Types, e.SQLState != "" || e.Errno != "")
}

// fact reports whether evidence is one such fact, names of types aside.
func fact(e *failure.Evidence, out *Classification) bool {
	if e.Code != "" || e.Class != "" || e.Permanent || e.RetryMark || e.Cancel || e.Dependency != "" || e.ServiceCode != "" ||
		e.GRPC != "" || e.Exit != nil || e.Signal != "" || e.Canceled {
		return false
	}
	switch {
	case e.SQLState != "":
		return plainState(e, out)
	case e.Errno != "":
		return plainErrno(e, out)
	case e.HTTPStatus != 0:
		return plainStatus(e, out)
	case e.Timeout:
		out.is(failure.NetworkTimeout, RankTyped, "typed.timeout")
		return true
	}
	return false
}

// onlyFact takes back what built-in rules have read in the text beside such a fact. So the
// answer is that of plain, also where a policy has rules of its own, and before it is known that a type says nothing.
func (r *reader) onlyFact(hint time.Duration, traits trait) {
	var out Classification
	typed := func(h hit) bool { return h.rank == RankType && h.class != "" }
	if r.c.builtin == nil || !fact(r.e, &out) || slices.ContainsFunc(r.hits, typed) {
		return
	}
	r.hits = slices.DeleteFunc(r.hits, func(h hit) bool {
		return h.rank <= RankText && h.order == 0 && !strings.HasPrefix(h.rule, ownPrefix)
	})
	r.hint, r.traits = hint, traits
}

// is writes down what evidence says.
func (c *Classification) is(class failure.Class, rank Rank, rule string) {
	c.Class, c.Verdict, c.Rank, c.Rule = class, class.Verdict(), rank, rule
}

func plainState(e *failure.Evidence, out *Classification) bool {
	s, ok := sqlClassOf(e.SQLState)
	if !ok || len(s.code) != 5 || s.weight < wStrong || e.Errno != "" || e.HTTPStatus != 0 || e.Timeout {
		return false
	}
	out.is(s.class, RankCode, s.rule)
	out.Saw, out.Code = e.SQLState, s.rule
	return true
}

func plainErrno(e *failure.Evidence, out *Classification) bool {
	known := errnoByName.get(e.Errno)
	if known == nil || known.weight < wStrong || e.HTTPStatus != 0 || e.Timeout && !retriable(known.class) {
		return false
	}
	out.is(known.class, RankCode, known.rule)
	out.Saw, out.Code = e.Errno, known.rule
	return true
}

// plainStatus takes the statuses that texts do not refine. Others, such as 400,
// 403, 429 and 500, stand for many things.
func plainStatus(e *failure.Evidence, out *Classification) bool {
	switch e.HTTPStatus {
	case 502, 504, 408:
	case 503:
		if refines503(e.Message) {
			return false
		}
	default:
		return false
	}
	if len(e.Details) > 0 || len(e.Stderr) > 0 || len(e.Stdout) > 0 {
		return false
	}
	s, _ := statusOf(statuses, e.HTTPStatus)
	out.is(s.class, RankTyped, httpCode(e.HTTPStatus))
	out.Code = out.Rule
	return true
}

// refines503 reports whether a text may say more than that a service is
// unavailable: that it is too much for it, or when it will be back. Both are in
// the text as given, in any case but that of the first letter.
func refines503(text string) bool {
	for _, word := range [...]string{"imit", "uota", "hrottl", "low", "etry", "again", "apacity", "LIMIT", "QUOTA"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// quiet reports whether names of types add nothing to a fact. Next to a code,
// only those that are known to say something count; next to others, all whose
// words do.
func (s *ruleset) quiet(types []string, coded bool) bool {
	for _, name := range types {
		if h := goTypes.get(name); h != nil {
			if h.class != "" {
				return false
			}
		} else if !coded && !s.silent.has(name) {
			return false
		}
	}
	return true
}
