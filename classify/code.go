package classify

import "strings"

// errno reads the name of an error of the operating system.
func (r *reader) errno(name string, rank Rank, at int32, saw string, more int) bool {
	known := errnoByName.get(name)
	if known == nil {
		rest, wsa := strings.CutPrefix(name, "WSA")
		if known = errnoByName.get(rest); known == nil || !wsa {
			return false
		}
	}
	r.add(hit{rule: known.rule, class: known.class, rank: rank, weight: known.weight + more, at: at, saw: saw, code: known.rule})
	r.exact = r.exact || rank == RankCode && known.weight >= wStrong
	return true
}

func (r *reader) errnoNumber(n int64, rank Rank, at int32, saw string, more int) {
	if n < 0 {
		n = -n
	}
	if n <= 11 && strings.Contains(saw, "-") {
		return // a resolver's: they count down from -1
	}
	if name := errnoByNumber[n]; name != "" {
		r.errno(name, rank, at, saw, more)
	} else if name := winErrors[n]; name != "" && n >= 10000 {
		r.errno(name, rank, at, saw, more)
	}
}

// grpc reads the canonical name of a gRPC status.
func (r *reader) grpc(name string, rank Rank, at int32, saw string, more int) bool {
	for i := range grpcCodes {
		c := &grpcCodes[i]
		if sameName(c.name, name) || c.name == "CANCELLED" && sameName("CANCELED", name) {
			r.add(hit{rule: grpcRules[i], class: c.class, rank: rank, weight: c.weight + more, at: at, saw: saw, code: grpcRules[i]})
			return true
		}
	}
	return false
}

// status reads an HTTP status.
func (r *reader) status(code int, rank Rank, at int32, saw string) {
	if rank != RankTyped {
		r.ownStatus(code, rank, at, saw)
	}
	if s, ok := statusOf(statuses, code); ok && r.c.builtin != nil {
		weight := s.weight
		if rank == RankText {
			weight--
		}
		r.add(hit{rule: httpCode(code), class: s.class, rank: rank, weight: weight, at: at, saw: saw, code: httpCode(code)})
	}
}

// mailStatus reads a reply of a mail server.
func (r *reader) mailStatus(code int, rank Rank, at int32, saw string) {
	r.refused = r.refused || code >= 500
	if s, ok := statusOf(mailStatuses, code); ok && r.c.builtin != nil {
		r.add(hit{rule: names.smtp[code], class: s.class, rank: rank, weight: s.weight, at: at, saw: saw, code: names.smtp[code]})
	}
}

// exit reads the exit code of a process.
func (r *reader) exit(code int64, rank Rank, at int32, saw string) {
	if rank == RankText {
		r.ownExit(code, "", rank, at, saw)
	}
	switch code {
	case 3221225477, 3221225501, 3221226505, 3221225725: // access violation and the like, on Windows
		code = 139
	}
	if s, ok := statusOf(exits, int(min(max(code, -1), 1<<20))); ok && r.c.builtin != nil {
		r.add(hit{rule: names.exit[code], class: s.class, rank: rank, weight: s.weight, at: at, saw: saw, code: names.exit[code]})
	}
}

// code derives a machine code from what is known: the handler's own, that of the
// most specific typed evidence, or the heaviest that the text gives.
func (r *reader) code() string {
	e := r.e
	switch {
	case e.Code != "":
		return e.Code
	case e.SQLState != "":
		return "pg." + e.SQLState
	case e.ServiceCode != "":
		return e.ServiceCode
	case e.GRPC != "":
		return "grpc." + e.GRPC
	case e.Errno != "":
		if known := errnoByName.get(e.Errno); known != nil {
			return known.rule
		}
		return "errno." + e.Errno
	case e.HTTPStatus >= 300:
		return httpCode(e.HTTPStatus)
	case e.Signal != "":
		if s, ok := signalClasses[e.Signal]; ok {
			return s.name
		}
	case e.Exit != nil && *e.Exit > 0 && *e.Exit < len(names.exit):
		return names.exit[*e.Exit]
	}
	var best *hit
	for i := range r.hits {
		if h := &r.hits[i]; h.code != "" && (best == nil || h.beats(best)) {
			best = h
		}
	}
	if best == nil {
		return ""
	}
	if len(best.code) == 5 && best.rank == RankText {
		return "pg." + best.code
	}
	return best.code
}

// ownStatus looks a status up in the policy's rules.
func (r *reader) ownStatus(code int, rank Rank, at int32, saw string) {
	for i := range r.c.rules.Statuses {
		s := &r.c.rules.Statuses[i]
		if code >= s.From && code <= max(s.From, s.To) && code > 0 && forKind(s.Kinds, r.kind) {
			r.add(hit{rule: r.c.ids.statuses[i], class: s.Class, rank: rank, weight: wOwnStatus, at: at, saw: saw, code: httpCode(code)})
			return
		}
	}
}

func (r *reader) ownExit(code int64, signal string, rank Rank, at int32, saw string) {
	for i := range r.c.rules.Exits {
		x := &r.c.rules.Exits[i]
		same := x.Signal == "" && int64(x.Code) == code || x.Signal != "" && x.Signal == signal
		if same && forKind(x.Kinds, r.kind) {
			r.add(hit{rule: r.c.ids.exits[i], class: x.Class, rank: rank, weight: wOwnStatus, at: at, saw: saw})
			return
		}
	}
}
