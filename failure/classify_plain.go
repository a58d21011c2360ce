package failure

import (
	"strings"
	"sync/atomic"
)

// Most failures of a program in Go are one typed fact: a connection that was
// reset, a deadline that passed, a SQLSTATE, a status that means one thing. What
// such a fact says, its text only repeats, so that there is no need to read it.

// plain classifies evidence that is one such fact and nothing else.
func (c *Classifier) plain(e *Evidence) (Classification, bool) {
	if !c.direct || e.Code != "" || e.Class != "" || e.Permanent || e.Cancel || e.Dependency != "" || e.ServiceCode != "" ||
		e.GRPC != "" || e.Exit != nil || e.Signal != "" || e.Canceled {
		return Classification{}, false
	}
	h, ok := hit{}, false
	switch {
	case e.SQLState != "":
		h, ok = plainState(e)
	case e.Errno != "":
		h, ok = plainErrno(e)
	case e.HTTPStatus != 0:
		h, ok = plainStatus(e)
	case e.Timeout:
		h, ok = hit{rule: "typed.timeout", class: NetworkTimeout, rank: RankTyped, weight: wSaid}, true
	}
	if !ok || !c.builtin.quiet(e.Types, h.rank == RankCode) {
		return Classification{}, false
	}
	return Classification{Class: h.class, Verdict: verdictOf(h.class), Rank: h.rank, Rule: h.rule, Saw: h.saw, Code: h.code}, true
}

func plainState(e *Evidence) (hit, bool) {
	s, ok := sqlClassOf(e.SQLState)
	if !ok || len(s.code) != 5 || s.weight < wStrong || e.Errno != "" || e.HTTPStatus != 0 || e.Timeout {
		return hit{}, false
	}
	return hit{rule: s.rule, class: s.class, rank: RankCode, saw: e.SQLState, code: s.rule}, true
}

func plainErrno(e *Evidence) (hit, bool) {
	known, ok := errnoByName[e.Errno]
	if !ok || known.weight < wStrong || e.HTTPStatus != 0 || e.Timeout && !retriable(known.class) {
		return hit{}, false
	}
	return hit{rule: known.rule, class: known.class, rank: RankCode, saw: e.Errno, code: known.rule}, true
}

// plainStatus takes the statuses that texts do not refine. Others, such as 400,
// 403, 429 and 500, stand for many things.
func plainStatus(e *Evidence) (hit, bool) {
	switch e.HTTPStatus {
	case 502, 504, 408:
	case 503:
		if refines503(e.Message) {
			return hit{}, false
		}
	default:
		return hit{}, false
	}
	if len(e.Details) > 0 || len(e.Stderr) > 0 {
		return hit{}, false
	}
	s, _ := statusOf(statuses, e.HTTPStatus)
	return hit{rule: httpCode(e.HTTPStatus), class: s.class, rank: RankTyped, code: httpCode(e.HTTPStatus)}, true
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
		if h, ok := goTypes[name]; ok {
			if h.class != "" {
				return false
			}
		} else if !coded && !s.silent.has(name) {
			return false
		}
	}
	return true
}

// silentMax bounds how many names of types are kept.
const silentMax = 256

// silentTypes are the names of types that were read and say nothing, so that
// those of a program are read once. It is a cache and nothing else.
type silentTypes struct {
	names atomic.Pointer[map[string]struct{}]
}

func (s *silentTypes) has(name string) bool {
	names := s.names.Load()
	if names == nil {
		return false
	}
	_, ok := (*names)[name]
	return ok
}

// add keeps a name. When two goroutines add at a time, one may be forgotten.
func (s *silentTypes) add(name string) {
	next := map[string]struct{}{strings.Clone(name): {}}
	if names := s.names.Load(); names != nil {
		if len(*names) >= silentMax {
			return
		}
		for have := range *names {
			next[have] = struct{}{}
		}
	}
	s.names.Store(&next)
}
