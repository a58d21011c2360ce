package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// Kind is a type of problem. The kinds are the registry of all problems that the server answers
// with; the page /problems shows them.
type Kind struct {
	Name   string
	Status int
	Title  string
	// Doc says for people when the problem occurs and what to do.
	Doc string
}

// The kinds of problems.
var (
	InvalidJSON          = &Kind{"invalid-json", 400, "The body is not JSON", "The body is cut, not UTF-8, not JSON, or nested too deep. The detail names the byte."}
	InvalidField         = &Kind{"invalid-field", 400, "A value is not allowed", "\"errors\" lists all mistakes, each with the field, the parameter or the header, and the bound."}
	UnknownField         = &Kind{"unknown-field", 400, "A field is not known", "\"errors\" names the field, and the known field that was probably meant."}
	PayloadInvalid       = &Kind{"payload-invalid", 400, "The payload does not fit its kind", "\"errors\" lists all mistakes in the payload. GET /api/kinds/{kind}/schema shows what is allowed."}
	InvalidCursor        = &Kind{"invalid-cursor", 400, "The cursor does not belong to this list", "A cursor is the \"next\" of an answer to the same query. Start again without a cursor."}
	TooFar               = &Kind{"too-far", 400, "The page is too far from the beginning", "Pages by number reach 10,000 entries. Use the cursor in the answer."}
	Unauthenticated      = &Kind{"unauthenticated", 401, "The request needs valid credentials", "Send \"Authorization: Bearer\" with a key. The answer is the same for a missing, unknown, wrong, expired or revoked key."}
	Forbidden            = &Kind{"forbidden", 403, "The caller may not do this", "The key lacks a role, or is bound to other kinds or queues."}
	OwnerMayNot          = &Kind{"owner-may-not", 403, "An owner may not do this", "The configuration of the kind does not allow owners to do this or to change this field."}
	NotFound             = &Kind{"not-found", 404, "Not found", "The object does not exist, or it belongs to another owner."}
	MethodNotAllowed     = &Kind{"method-not-allowed", 405, "The path does not have this method", "The header Allow lists the methods."}
	NotAcceptable        = &Kind{"not-acceptable", 406, "The answer has no form that the request accepts", "The detail names the media types."}
	UnsupportedMediaType = &Kind{"unsupported-media-type", 415, "The body has a media type that the path does not take", "The detail names the media types."}
	NotFailed            = &Kind{"not-failed", 400, "The member is not in a failed state", "Only a dead member of a batch can be retried. The answer has its state. The second of two clicks gets this, too."}
	NotDead              = &Kind{"not-dead", 409, "The job is not dead", "Only a dead job can be retried. The answer has the state of the job."}
	Ended                = &Kind{"ended", 409, "The job has ended", "The answer has the state of the job."}
	StateMoved           = &Kind{"state-moved", 409, "The state has changed", "The object is not in the state that the action needs or expects. The answer has the present state."}
	QueueDraining        = &Kind{"queue-draining", 409, "The queue takes no new jobs", "The queue is draining. Use another queue, or open it."}
	RedriveState         = &Kind{"redrive-state", 409, "The state of the redrive does not allow this", "The answer has the state of the redrive."}
	BatchEmpty           = &Kind{"batch-empty", 409, "The batch has no members", "A batch is published with at least one member that counts. Members of kinds without retry do not count."}
	BatchDraft           = &Kind{"batch-draft", 409, "The batch is not published", "Add members as drafts and publish the batch."}
	BatchEnded           = &Kind{"batch-ended", 409, "The batch has ended", "Add members as drafts and publish the batch again."}
	BatchExpired         = &Kind{"batch-expired", 409, "The batch has expired", "This is final: neither the batch nor its members come back. Create a new batch."}
	BatchBusy            = &Kind{"batch-busy", 409, "The batch is being changed", "It is being published or cancelled, or its drafts are being discarded. Ask again when this is done."}
	RequestInProgress    = &Kind{"request-in-progress", 409, "A request with this Idempotency-Key is being carried out", "Ask again after the time in Retry-After."}
	WorkerNameTaken      = &Kind{"worker-name-taken", 409, "Another worker has this name", "Each worker process needs its own name."}
	LeaseLost            = &Kind{"lease-lost", 409, "The run is over", "Another run of the job has begun, or the job has ended."}
	Gone                 = &Kind{"gone", 410, "The cursor, the preview or the ticket is no longer valid", "Start again without it."}
	PreconditionFailed   = &Kind{"precondition-failed", 412, "The object has changed", "If-Match has an older version."}
	TooLarge             = &Kind{"too-large", 413, "A value is too large", "The detail names the bound and, where there is one, the setting."}
	HeaderTooLarge       = &Kind{"header-too-large", 431, "The header is too large", "Send fewer or shorter header fields."}
	URLTooLong           = &Kind{"url-too-long", 414, "The URL is too long", "Use fewer or shorter filters."}
	HostUnknown          = &Kind{"host-unknown", 421, "The server does not answer to this host", "Call the server by its address, or add the name to the setting server.hosts."}
	KeyReused            = &Kind{"key-reused", 422, "The key belongs to another request", "The key was used with another payload. Use a new key, or send the same payload."}
	RateLimited          = &Kind{"rate-limited", 429, "Too many requests", "Ask again after the time in Retry-After."}
	Internal             = &Kind{"internal", 500, "The server failed", "The log of the server has the cause under the id of the request."}
	StoreUnavailable     = &Kind{"store-unavailable", 503, "The store does not answer", "Nothing was written. Ask again after the time in Retry-After."}
	StoreReadOnly        = &Kind{"store-read-only", 503, "The store is read-only", "Nothing was written. An operator has to make the store writable."}
	StoreFull            = &Kind{"store-full", 507, "The store is full", "Nothing was written. An operator has to make room."}
	Starting             = &Kind{"starting", 503, "The server is starting", "Ask again after the time in Retry-After."}
	Stopping             = &Kind{"stopping", 503, "The server is stopping", "Ask another server, or ask again after the time in Retry-After."}
	OutcomeUnknown       = &Kind{"outcome-unknown", 504, "It is not known whether the change was made", "The answer has the ids of the jobs that may exist. Look them up, or send the request again with the same key."}
)

// Kinds returns the registry of problems, in the order of their statuses.
func Kinds() []*Kind {
	return []*Kind{
		InvalidJSON, InvalidField, UnknownField, PayloadInvalid, InvalidCursor, TooFar, NotFailed, Unauthenticated, Forbidden, OwnerMayNot, NotFound,
		MethodNotAllowed, NotAcceptable, NotDead, Ended, StateMoved, QueueDraining, RedriveState,
		BatchEmpty, BatchDraft, BatchEnded, BatchExpired, BatchBusy, RequestInProgress, WorkerNameTaken, LeaseLost,
		Gone, PreconditionFailed, TooLarge, HeaderTooLarge, URLTooLong, UnsupportedMediaType, HostUnknown, KeyReused, RateLimited,
		Internal, StoreUnavailable, StoreReadOnly, Starting, Stopping, OutcomeUnknown, StoreFull,
	}
}

// Problem is an answer that reports a problem (RFC 9457). The fields statusCode, message and
// error are for clients that expect them.
type Problem struct {
	Type       string    `json:"type"` // /problems#NAME
	Title      string    `json:"title"`
	Status     int       `json:"status"`
	Detail     string    `json:"detail"`
	Errors     []Mistake `json:"errors,omitempty"` // all mistakes of the request, at most 50
	StatusCode int       `json:"statusCode"`       // the same as status
	Message    string    `json:"message"`          // the first mistake, otherwise the detail
	Words      string    `json:"error"`            // the words of the status, such as "Bad Request"
	RequestID  string    `json:"request_id,omitempty"`

	Job   job.ID    `json:"job,omitempty"`  // the job that the problem is about
	State job.State `json:"state,omitzero"` // the state of this job now
	Life  int32     `json:"life,omitempty"` // the life of this job now
	// DeadLetter is the status of the dead letter of this job now.
	DeadLetter string `json:"dead_letter_status,omitempty"`
	// Redrive is the state of the redrive that the problem is about.
	Redrive redrive.RedriveState `json:"redrive_state,omitempty"`
	// Batch is the number of the batch that the problem is about.
	Batch int64    `json:"batch,omitempty"`
	IDs   []job.ID `json:"ids,omitempty"`  // with outcome-unknown: the jobs that may exist
	Next  string   `json:"next,omitempty"` // with too-far: the cursor to use

	// Bare means that the answer is {statusCode, message, error} and nothing else.
	Bare bool `json:"-"`

	kind       *Kind
	retryAfter int // seconds; 0 means that the header is left out
	allow      string
	cause      error // for the log
}

// Mistake is one mistake in a request. It names its place in one of three ways.
type Mistake struct {
	Pointer   string `json:"pointer,omitempty"`   // JSON pointer into the body
	Parameter string `json:"parameter,omitempty"` // name of a parameter of the path or the query
	Header    string `json:"header,omitempty"`    // name of a header
	Detail    string `json:"detail"`
	Bound     any    `json:"bound,omitempty"` // the largest or smallest value that is allowed
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// Unwrap returns the error from which the problem was made, if any.
func (p *Problem) Unwrap() error { return p.cause }

// Kind returns the type of the problem.
func (p *Problem) Kind() *Kind { return p.kind }

// New returns a problem of this kind.
func (k *Kind) New(format string, args ...any) *Problem {
	detail := fmt.Sprintf(format, args...)
	return &Problem{Type: "/problems#" + k.Name, Title: k.Title, Status: k.Status, Detail: detail, kind: k,
		StatusCode: k.Status, Message: detail, Words: cmp.Or(http.StatusText(k.Status), "Unknown")}
}

// Mistaken returns a problem with mistakes of a request. There must be at least one mistake.
func (k *Kind) Mistaken(mistakes ...Mistake) *Problem {
	p := k.New("%s", mistakes[0].Detail)
	if n := len(mistakes); n > 1 {
		p.Detail = fmt.Sprintf("The request has %d mistakes. The first: %s", n, mistakes[0].Detail)
	}
	if place := mistakes[0].place(); place != "" {
		p.Message = place + ": " + mistakes[0].Detail
	}
	p.Errors = mistakes[:min(len(mistakes), MistakesMax)]
	return p
}

func (m *Mistake) place() string {
	return cmp.Or(strings.TrimPrefix(m.Pointer, "/"), m.Parameter, m.Header)
}

// After sets the number of seconds after which the client should ask again.
func (p *Problem) After(seconds int) *Problem {
	p.retryAfter = seconds
	return p
}

// retryAfterStore is the number of seconds after which a client should ask again when the store
// does not answer.
const retryAfterStore = 2

// ProblemOf returns the problem for an error of a handler, of Identify or of a client.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := problemOf(err)
	p.cause = err
	return p
}

// payloadProblem returns the problem for a payload that does not fit its kind. The payload is at
// the pointer in the request. The message is the sentence of the first mistake alone.
func payloadProblem(bad *redrive.PayloadError, pointer string) *Problem {
	mistakes := make([]Mistake, len(bad.Mistakes))
	for i, m := range bad.Mistakes {
		mistakes[i] = Mistake{Pointer: pointer + m.Pointer, Detail: m.Detail}
		if m.Bound != "" {
			mistakes[i].Bound = m.Bound
		}
	}
	p := PayloadInvalid.Mistaken(mistakes...)
	p.Message = bad.Mistakes[0].Detail
	return p
}

func problemOf(err error) *Problem {
	switch {
	case errors.Is(err, access.ErrUnauthenticated):
		return Unauthenticated.New("The request needs valid credentials.")
	case errors.Is(err, access.ErrForbidden):
		return Forbidden.New("The caller may not do this.")
	case errors.As(err, new(*access.Limited)):
		limited, _ := errors.AsType[*access.Limited](err)
		return RateLimited.New("Too many requests; ask again in %d s.", limited.RetryAfter).After(limited.RetryAfter)
	case errors.As(err, new(*access.Header)):
		header, _ := errors.AsType[*access.Header](err)
		return InvalidField.Mistaken(Mistake{Header: header.Name, Detail: header.Detail})
	}
	if bad, ok := errors.AsType[*redrive.PayloadError](err); ok {
		return payloadProblem(bad, "/payload")
	}
	if refused, ok := errors.AsType[*redrive.BatchRefused](err); ok {
		return batchProblem(refused)
	}
	switch wire.KindOf(err) {
	case wire.None, wire.Internal, wire.Warned, wire.BatchPartial, wire.BatchFailed, wire.BatchExpired:
	case wire.Stopping:
		return Stopping.New("The server is stopping.").After(retryAfterStore)
	case wire.NotFound:
		return NotFound.New("%s", err)
	case wire.InvalidField:
		return InvalidField.New("%s", err)
	case wire.TooLarge:
		return TooLarge.New("%s", err)
	case wire.StateMoved:
		return StateMoved.New("%s", err)
	case wire.QueueDraining:
		return QueueDraining.New("%s", err)
	case wire.LeaseLost:
		return LeaseLost.New("%s", err)
	case wire.Gone:
		return Gone.New("%s", err)
	case wire.KeyReused:
		p := KeyReused.New("%s", err)
		if conflict, ok := errors.AsType[*redrive.KeyConflict](err); ok {
			p.Job = conflict.ID
		}
		return p
	case wire.StoreUnavailable:
		return StoreUnavailable.New("The store does not answer. Nothing was written.").After(retryAfterStore)
	case wire.StoreReadOnly:
		return StoreReadOnly.New("The store is read-only. Nothing was written.").After(60)
	case wire.StoreFull:
		return StoreFull.New("The store is full. Nothing was written.").After(60)
	case wire.OutcomeUnknown:
		p := OutcomeUnknown.New("It is not known whether the change was made.").After(retryAfterStore)
		if unknown, ok := errors.AsType[*redrive.UnknownError](err); ok {
			p.IDs = unknown.IDs
			p.Detail = fmt.Sprintf("It is not known whether the jobs were enqueued: %d ids, all or none of them.", len(unknown.IDs))
			p.Message = p.Detail
		}
		return p
	}
	return Internal.New("The server failed. Its log has the cause under the id of this request.")
}

// bodyProblem returns the problem for mistakes in a JSON body.
func bodyProblem(mistakes []strictjson.Mistake) *Problem {
	list, unknown := make([]Mistake, len(mistakes)), true
	for i, m := range mistakes {
		list[i] = Mistake{Pointer: m.Pointer, Detail: m.Detail}
		unknown = unknown && m.Unknown
	}
	if unknown {
		return UnknownField.Mistaken(list...)
	}
	return InvalidField.Mistaken(list...)
}

// Write answers with the problem.
func (p *Problem) Write(w http.ResponseWriter, requestID string) {
	p.RequestID = requestID
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	var answer any = p
	if p.Bare {
		h.Set("Content-Type", "application/json")
		answer = mistakeOf(p)
	}
	h.Set("Cache-Control", "no-store")
	h.Del("Etag")
	if p.retryAfter > 0 {
		h.Set("Retry-After", fmt.Sprint(p.retryAfter))
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("Www-Authenticate", `Bearer realm="redrive"`)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic("encode a problem: " + err.Error())
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(wire.Plain(body), '\n')) // the client may have gone
}

// Allow sets the methods that the path has.
func (p *Problem) Allow(methods []string) *Problem {
	p.allow = strings.Join(methods, ", ")
	return p
}
