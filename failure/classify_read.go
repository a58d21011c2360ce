package failure

import (
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// reader is what one classification needs. It is used again.
type reader struct {
	c    *Classifier
	e    *Evidence // a copy, so that the evidence of the caller stays where it is
	copy Evidence
	kind string

	hits    []hit
	ordered bool          // some of them have an order
	exact   bool          // a typed code says exactly what happened
	refused bool          // a mail server has said so for good
	coded   bool          // what is being read is a code, not a text
	hint    time.Duration // the longest wait that the texts ask for
	traits  trait         // of all phrases that were found

	from   source    // what is being read
	output [3]string // what a process wrote, by source

	tokens  []scan.Token // of a code
	read    *scan.Buffer // of the text that was read last; nil for none
	matcher phrase.Matcher
	own     phrase.Matcher
	adjust  []int8 // per symbol: what its place adds to evidence
}

const (
	hitsMax   = 512  // pieces of evidence that are kept
	keepScrap = 4096 // tokens of scratch that are kept for the next text
)

func (r *reader) start(c *Classifier, e *Evidence, kind string) {
	r.copy = *e
	r.c, r.e, r.kind = c, &r.copy, kind
	r.hits, r.ordered, r.exact, r.refused, r.hint, r.traits = r.hits[:0], false, false, false, 0, 0
	r.from = fromElsewhere
}

// release forgets what it has read, so that no text is kept alive.
func (r *reader) release() {
	clear(r.hits)
	clear(r.output[:])
	r.copy = Evidence{}
	r.c, r.e, r.matcher.Text, r.own.Text, r.matcher.Machine, r.own.Machine = nil, nil, "", "", nil, nil
	r.forget()
	if cap(r.tokens) > keepScrap {
		*r = reader{}
	}
}

// forget releases the tokens of the text that was read last.
func (r *reader) forget() {
	r.matcher.Tokens, r.own.Tokens = nil, nil
	if r.read != nil {
		r.read.Release()
		r.read = nil
	}
}

// doubted returns how much less words for a passing failure are worth when a
// typed status, or a mail server, says that the request itself was wrong.
func (r *reader) doubted(rule *textRule) int {
	if !rule.passes {
		return 0
	}
	if r.refused {
		return inHistory
	}
	switch r.e.HTTPStatus {
	case 400, 401, 404, 405, 406, 410, 411, 412, 415, 422:
		return wStatus - wGeneric
	}
	return 0
}

func (r *reader) add(h hit) {
	if h.class != "" && len(r.hits) < hitsMax {
		h.final = h.class != UnknownError && !retriable(h.class)
		h.from = r.from
		r.ordered = r.ordered || h.order > 0
		r.hits = append(r.hits, h)
	}
}

// readOwn looks at the policy's rules for codes, types, statuses and exits.
func (r *reader) readOwn() {
	rules := &r.c.rules
	for i := range rules.Matchers {
		if class, ok := match1(&rules.Matchers[i], r.e); ok {
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

// match1 asks a matcher in Go, which may panic.
func match1(m *Matcher, e *Evidence) (class Class, ok bool) {
	if m.Match == nil {
		return "", false
	}
	found := false
	if !guard(func() { class, found = m.Match(e) }) {
		return "", false
	}
	return class, found && class != ""
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

// handlerCodes are the codes of rendering jobs (F12): all are retried, whatever
// they wrap.
var handlerCodes = []named{
	{"IMAGE_DOWNLOAD_FAILED", TemporaryServiceError, wOwnCode - 1},
	{"STORAGE_UPLOAD_FAILED", TemporaryServiceError, wOwnCode - 1},
	{"FFMPEG_ERROR", UnknownError, wOwnCode - 1},
	{"FFMPEG_TIMEOUT", AttemptTimeout, wOwnCode - 1},
}

// readCodes looks at the codes of the handler and of the other side, and at the
// names of types.
func (r *reader) readCodes() {
	if r.c.builtin == nil {
		return
	}
	e := r.e
	for _, code := range handlerCodes {
		if e.Code == code.name {
			r.add(hit{rule: "code." + code.name, class: code.class, rank: RankCode, weight: code.weight, saw: e.Code})
			r.exact = true
			return
		}
	}
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
		r.ownCode(e.Code)
	}
}

func (r *reader) settledByCode() bool { return r.exact && r.e.Code == "" && r.e.ServiceCode == "" }

// ownCode reads the words of the handler's code: it outranks what it wraps.
func (r *reader) ownCode(code string) {
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

// goTypes are types of Go's library and of its best known clients.
var goTypes = newLookup(map[string]hit{
	"io.EOF":                           {rule: "type.io.EOF", class: NetworkTimeout, weight: wWeak},
	"io.ErrUnexpectedEOF":              {rule: "type.io.ErrUnexpectedEOF", class: NetworkTimeout, weight: wGeneric},
	"io.ErrClosedPipe":                 {rule: "type.io.ErrClosedPipe", class: NetworkTimeout, weight: wGeneric},
	"io.ErrShortWrite":                 {rule: "type.io.ErrShortWrite", class: ResourceConstraint, weight: wGeneric},
	"fs.ErrNotExist":                   {rule: "type.fs.ErrNotExist", class: NotFound, weight: wSaid},
	"fs.ErrPermission":                 {rule: "type.fs.ErrPermission", class: PermissionError, weight: wSaid + 4},
	"fs.ErrExist":                      {rule: "type.fs.ErrExist", class: BusinessLogicError, weight: wSaid},
	"exec.Error":                       {rule: "type.exec.Error", class: NotFound, weight: wSaid},
	"net.DNSError":                     {rule: "type.net.DNSError", class: TemporaryServiceError, weight: wStrong},
	"tls.CertificateVerificationError": {rule: "type.tls.Certificate", class: AuthenticationFailure, weight: wCode},
	"x509.UnknownAuthorityError":       {rule: "type.x509", class: AuthenticationFailure, weight: wCode},
	"x509.HostnameError":               {rule: "type.x509", class: AuthenticationFailure, weight: wCode},
	"x509.CertificateInvalidError":     {rule: "type.x509", class: AuthenticationFailure, weight: wCode},
	"tls.RecordHeaderError":            {rule: "type.tls.RecordHeader", class: InvalidInput, weight: wStrong},
	"http.MaxBytesError":               {rule: "type.http.MaxBytes", class: InputExceedsLimits, weight: wCode},
	"json.UnmarshalTypeError":          {rule: "type.json", class: ValidationError, weight: wSaid},
	"json.InvalidUnmarshalError":       {rule: "type.json", class: ValidationError, weight: wSaid},
	"json.UnsupportedTypeError":        {rule: "type.json", class: ValidationError, weight: wSaid},
	"json.SyntaxError":                 {rule: "type.json.Syntax", class: ValidationError, weight: wWeak},
	"strconv.NumError":                 {rule: "type.strconv", class: ValidationError, weight: wSaid},
	"time.ParseError":                  {rule: "type.time", class: ValidationError, weight: wSaid},
	"csv.ParseError":                   {rule: "type.csv", class: ValidationError, weight: wSaid},
	"xml.SyntaxError":                  {rule: "type.xml", class: ValidationError, weight: wSaid},
	"base64.CorruptInputError":         {rule: "type.base64", class: InvalidInput, weight: wSaid},
	"hex.InvalidByteError":             {rule: "type.hex", class: InvalidInput, weight: wSaid},
	"flate.CorruptInputError":          {rule: "type.flate", class: InvalidInput, weight: wSaid},
	"jpeg.FormatError":                 {rule: "type.image", class: InvalidInput, weight: wSaid},
	"png.FormatError":                  {rule: "type.image", class: InvalidInput, weight: wSaid},
	"jpeg.UnsupportedError":            {rule: "type.image", class: InvalidInput, weight: wSaid},
	"png.UnsupportedError":             {rule: "type.image", class: InvalidInput, weight: wSaid},
	"runtime.TypeAssertionError":       {rule: "type.runtime", class: ProgramError, weight: wSaid + failFast},
	"template.ExecError":               {rule: "type.template", class: ValidationError, weight: wSaid},
	"net.ParseError":                   {rule: "type.net.Parse", class: InvalidInput, weight: wSaid},
	"net.AddrError":                    {rule: "type.net.Addr", class: InvalidInput, weight: wSaid},
	"url.EscapeError":                  {rule: "type.url", class: InvalidInput, weight: wSaid},
	"url.InvalidHostError":             {rule: "type.url", class: InvalidInput, weight: wSaid},
	"net.OpError":                      {},
	"url.Error":                        {},
	"os.SyscallError":                  {},
	"fs.PathError":                     {},
	"os.PathError":                     {},
	"os.LinkError":                     {},
	"exec.ExitError":                   {},
	"textproto.Error":                  {},
	"pgconn.PgError":                   {},
	"pq.Error":                         {},
	"mysql.MySQLError":                 {},
	"context.deadlineExceededError":    {},
})

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
		r.add(hit{rule: "typed.timeout", class: NetworkTimeout, rank: RankTyped, weight: wSaid})
	}
	if e.Canceled {
		r.add(hit{rule: "typed.canceled", class: TemporaryServiceError, rank: RankTyped, weight: wWeak})
	}
	if s, ok := signalClasses[e.Signal]; ok {
		r.add(hit{rule: s.name, class: s.class, rank: RankTyped, weight: s.weight, saw: e.Signal})
	}
	if e.Exit != nil {
		r.exit(int64(*e.Exit), RankTyped, 0, "")
	}
}
