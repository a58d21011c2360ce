package classify

import (
	"strconv"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/scan"
)

// readOwn looks at the policy's rules for codes, types, statuses and exits.
func (r *reader) readOwn() {
	rules := &r.c.rules
	for i := range rules.Matchers {
		if class, ok := callMatcher(&rules.Matchers[i], r.e); ok {
			r.add(hit{rule: r.c.ids.matchers[i], class: class, rank: RankCode, weight: wOwnMatcher - i})
		}
	}
	for i := range rules.Codes {
		rule := &rules.Codes[i]
		if saw := r.hasCode(rule.Code); saw != "" && forKind(rule.Kinds, r.kind) {
			r.add(hit{rule: r.c.ids.codes[i], class: rule.Class, rank: RankCode, weight: wOwnCode, saw: saw})
		}
	}
	for i := range rules.Types {
		rule := &rules.Types[i]
		for _, name := range r.e.Types {
			if (name == rule.Type || name[strings.LastIndexByte(name, '.')+1:] == rule.Type) && forKind(rule.Kinds, r.kind) {
				r.add(hit{rule: r.c.own.rules[i].id, class: rule.Class, rank: RankType, weight: wOwnType, saw: name})
				break
			}
		}
	}
	r.ownStatus(r.e.HTTPStatus, RankTyped, 0, "")
	if r.e.Exit != nil {
		r.ownExit(int64(*r.e.Exit), r.e.Signal, RankTyped, 0, "")
	} else if r.e.Signal != "" {
		r.ownExit(-1, r.e.Signal, RankTyped, 0, "")
	}
}

// callMatcher asks a matcher in Go, which may panic.
func callMatcher(m *Matcher, e *failure.Evidence) (class failure.Class, ok bool) {
	defer func() {
		if recover() != nil {
			class, ok = "", false
		}
	}()
	if m.Match == nil {
		return "", false
	}
	class, ok = m.Match(e)
	return class, ok && class != ""
}

// hasCode returns the code of the evidence that is the wanted one.
func (r *reader) hasCode(code string) string {
	e := r.e
	for _, have := range [...]string{e.Code, e.ServiceCode, e.SQLState, e.GRPC, e.Errno} {
		if have != "" && strings.EqualFold(have, code) {
			return have
		}
	}
	if prefix, rest, ok := strings.Cut(code, "."); ok {
		switch {
		case prefix == "http" && e.HTTPStatus > 0 && rest == strconv.Itoa(e.HTTPStatus),
			prefix == "exit" && e.Exit != nil && rest == strconv.Itoa(*e.Exit),
			prefix == "pg" && e.SQLState != "" && rest == e.SQLState,
			prefix == "grpc" && e.GRPC != "" && rest == e.GRPC,
			prefix == "errno" && e.Errno != "" && rest == e.Errno,
			prefix == "signal" && e.Signal != "" && rest == e.Signal:
			return code
		}
	}
	return ""
}

// grpcStatuses are the statuses of HTTP that say what a status of gRPC says, for the statuses of a policy without the built-in
// rules.
var grpcStatuses = map[string]int{
	"UNAVAILABLE": 503, "RESOURCEEXHAUSTED": 429, "RESOURCE_EXHAUSTED": 429, "DEADLINEEXCEEDED": 504, "DEADLINE_EXCEEDED": 504,
	"INTERNAL": 500, "UNAUTHENTICATED": 401, "PERMISSIONDENIED": 403, "PERMISSION_DENIED": 403, "NOTFOUND": 404, "NOT_FOUND": 404,
	"INVALIDARGUMENT": 400, "INVALID_ARGUMENT": 400,
}

// readCodes looks at the codes of the handler and of the other side, and at the
// names of types.
func (r *reader) readCodes() {
	if r.c.builtin == nil {
		if status, ok := grpcStatuses[strings.ToUpper(r.e.GRPC)]; ok {
			r.ownStatus(status, RankCode, 0, r.e.GRPC)
		}
		return
	}
	e := r.e
	if e.Errno != "" {
		r.errno(e.Errno, RankCode, 0, e.Errno, inCode)
	}
	if s, ok := sqlClassOf(e.SQLState); ok {
		r.add(hit{rule: s.rule, class: s.class, rank: RankCode, weight: s.weight + inCode, saw: e.SQLState})
		r.exact = r.exact || len(s.code) == 5 && s.weight >= wStrong
	}
	if e.GRPC != "" {
		r.grpc(e.GRPC, RankCode, 0, e.GRPC, 1)
	}
	for _, name := range e.Types {
		r.typeName(name)
	}
	if !r.settledByCode() {
		r.serviceCode(e.ServiceCode)
		r.handlerCode(e.Code)
	}
}

func (r *reader) settledByCode() bool { return r.exact && r.e.Code == "" && r.e.ServiceCode == "" }

// handlerCode reads the words of the handler's code: it outranks what it wraps.
func (r *reader) handlerCode(code string) {
	from := len(r.hits)
	r.words(code, RankCode, wOwnStatus-wWeak)
	for i := from; i < len(r.hits); i++ {
		r.hits[i].code = ""
	}
}

// serviceCode reads a code that the other side gave.
func (r *reader) serviceCode(code string) {
	if code == "" {
		return
	}
	if n, err := strconv.Atoi(code); err == nil && len(code) != 5 {
		switch {
		case n >= 400 && n < 600:
			r.status(n, RankCode, 0, code)
		case n < 0:
			r.errnoNumber(int64(-n), RankCode, 0, code, 0)
		}
		return
	}
	if r.errno(code, RankCode, 0, code, inCode) {
		return
	}
	s, ok := sqlClassOf(code)
	if n, err := strconv.Atoi(code); err == nil && len(s.code) < 5 { // SQL Server's, which look like a SQLSTATE
		if v, known := vendorOf(mssqlErrors, int64(n)); known && v.to-v.from < 1000 {
			r.add(hit{rule: "mssql", class: v.class, rank: RankCode, weight: v.weight + inCode, saw: code})
			return
		}
	}
	if ok && strings.ToUpper(code) == code {
		r.add(hit{rule: s.rule, class: s.class, rank: RankCode, weight: s.weight + inCode, saw: code})
		return
	}
	if !r.grpc(code, RankCode, 0, code, 1) {
		r.words(code, RankCode, inCode)
	}
}

// words reads a code by its words, as if it were a short text.
func (r *reader) words(code string, rank Rank, more int) {
	if code == "" {
		return
	}
	from := len(r.hits)
	r.tokens = scan.Tokens(r.tokens[:0], code)
	r.matcher.Run(r.c.builtin.machine, code, r.tokens)
	r.adjust = append(r.adjust[:0], make([]int8, len(r.matcher.Syms))...)
	r.coded = true
	r.matches(&r.matcher, r.c.builtin)
	r.coded = false
	for i := from; i < len(r.hits); i++ {
		r.hits[i].rank, r.hits[i].weight = rank, r.hits[i].weight+more
		r.hits[i].saw, r.hits[i].at = code, 0
	}
}

// typeName reads the name of an error type of any language.
func (r *reader) typeName(name string) {
	if known := goTypes.get(name); known != nil {
		h := *known
		h.rank, h.saw = RankType, name
		r.add(h)
		return
	}
	if r.exact || r.c.builtin.silent.has(name) {
		return
	}
	had, traits := len(r.hits), r.traits
	if r.words(name[strings.LastIndexAny(name, ".:$\\")+1:], RankType, 2); len(r.hits) == had && r.traits == traits {
		r.c.builtin.silent.add(name)
	}
}

// readTyped looks at statuses, exit codes, signals and timeouts of typed errors.
func (r *reader) readTyped() {
	if r.c.builtin == nil {
		return
	}
	e := r.e
	if e.HTTPStatus >= 300 && e.HTTPStatus < 600 {
		r.status(e.HTTPStatus, RankTyped, 0, "")
	}
	if e.Timeout {
		r.add(hit{rule: "typed.timeout", class: failure.NetworkTimeout, rank: RankTyped, weight: wSaid})
	}
	if e.Canceled {
		r.add(hit{rule: "typed.canceled", class: failure.TemporaryServiceError, rank: RankTyped, weight: wWeak})
	}
	if s, ok := signalClasses[e.Signal]; ok {
		r.add(hit{rule: s.name, class: s.class, rank: RankTyped, weight: s.weight, saw: e.Signal})
	}
	if e.Exit != nil {
		r.exit(int64(*e.Exit), RankTyped, 0, "")
	}
}
