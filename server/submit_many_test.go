package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// torn is a store that loses the answer of a call: the store carries out the call, but the caller
// gets an error.
type torn struct {
	store.Store
	loseEnqueue, loseAnswer bool
	enqueues                int
}

var errLost = fmt.Errorf("the connection was cut: %w", store.ErrUnavailable)

func (s *torn) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	s.enqueues++
	r, err := s.Store.Enqueue(ctx, jobs)
	if s.loseEnqueue && err == nil {
		return nil, errLost
	}
	return r, err
}

func (s *torn) EndRequest(ctx context.Context, scope, key string, status int, body []byte) error {
	if s.loseAnswer {
		return errLost
	}
	return s.Store.EndRequest(ctx, scope, key, status, body)
}

// part of: I1
//
// An array with an Idempotency-Key is enqueued once, wherever its first request was cut: after its
// row, after its enqueue, or after its answer.
func TestTrap29_AKeyedArrayIsEnqueuedOnce(t *testing.T) {
	t.Parallel()
	const body = `[{"kind":"k","payload":1},{"kind":"k","payload":2,"key":"own"},{"kind":"k","payload":3}]`
	for _, c := range []struct {
		name     string
		cut      torn
		enqueues int
	}{{"nothing is cut", torn{}, 1}, {"after the enqueue", torn{loseEnqueue: true}, 2}, {"before the answer is stored", torn{loseAnswer: true}, 2}} {
		st := &c.cut
		st.Store = memory.New(memory.Options{})
		s := newSiteOn(t, st, nil)
		first := s.do("POST", "/api/jobs", body, "Idempotency-Key: order-7")
		if (first.status == 201) == st.loseEnqueue {
			t.Fatalf("%s: the first request: got %d %s", c.name, first.status, first.body)
		}
		st.loseEnqueue, st.loseAnswer = false, false
		var again []receipt
		a := s.ok("POST", "/api/jobs", body, &again, "Idempotency-Key: order-7", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		if len(again) != 3 || a.header.Get("Idempotent-Replayed") != "true" || first.status == 201 && !st.loseAnswer && c.enqueues == 1 && !bytes.Equal(a.body, first.body) {
			t.Errorf("%s: the repeat: got %d %s, want the answer of the first: %s", c.name, a.status, a.body, first.body)
		}
		page, err := s.client.List(t.Context(), redrive.JobFilter{})
		if err != nil || len(page.Jobs) != 3 || st.enqueues != c.enqueues {
			t.Errorf("%s: got %d jobs after %d enqueues and error %v, want 3 jobs after %d", c.name, len(page.Jobs), st.enqueues, err, c.enqueues)
		}
		s.refused("key-reused", "POST", "/api/jobs", `[{"kind":"k","payload":1}]`, "Idempotency-Key: order-7")
		s.refused("key-reused", "POST", "/api/jobs", body, "Idempotency-Key: order-7", "X-Correlation-Id: other")
	}
}

// part of: I1
//
// A repeat that can prove nothing says so: the first request has no answer, and its jobs may have
// been removed since.
func TestTrap29_AKeyedArrayWhoseJobsMayBeGone(t *testing.T) {
	t.Parallel()
	st := &torn{Store: memory.New(memory.Options{}), loseAnswer: true}
	s := newSiteOn(t, st, completedKept(1))
	s.ok("POST", "/api/jobs", `[{"kind":"k","payload":1}]`, nil, "Idempotency-Key: a")
	p := s.refused("outcome-unknown", "POST", "/api/jobs", `[{"kind":"k","payload":1}]`, "Idempotency-Key: a")
	if len(p.IDs) != 1 {
		t.Errorf("got the ids %v, want the one that the first request had", p.IDs)
	}
}

// part of: I1
//
// When it is not known whether an enqueue happened, the answer names the ids, and later the jobs exist once.
func TestI1_AnUnknownOutcomeNamesItsIDs(t *testing.T) {
	t.Parallel()
	s := newSiteOn(t, &doubtful{Store: memory.New(memory.Options{})}, func(c *redrive.Config, _ *server.Options) { c.Clock = fastClock{} })
	p := s.refused("outcome-unknown", "POST", "/api/jobs", `[{"kind":"k","payload":1},{"kind":"k","payload":1}]`)
	if len(p.IDs) != 2 {
		t.Errorf("got %+v, want the ids of the two jobs", p)
	}
}

// doubtful is a store whose enqueues have unknown outcomes.
type doubtful struct{ store.Store }

func (*doubtful) Enqueue(context.Context, []job.New) ([]job.Receipt, error) {
	return nil, errors.Join(errors.New("the connection was cut"), store.ErrUnknown)
}

type lineOut struct {
	Line          int
	ID, Problem   string
	Existing      bool
	Complete      bool
	Lines         int
	Enqueued      int
	Refused       int
	ExistingCount int `json:"-"`
}

func (s *site) lines(body string) (answers []lineOut, last lineOut) {
	s.Helper()
	a := s.ok("POST", "/api/jobs", body, nil, "Content-Type: application/x-ndjson")
	for text := range strings.Lines(string(a.body)) {
		var l lineOut
		if strings.HasPrefix(text, `{"complete"`) {
			var done api.LinesDone
			if err := json.Unmarshal([]byte(text), &done); err != nil {
				s.Fatal(err)
			}
			last = lineOut{Complete: done.Complete, Lines: done.Lines, Enqueued: done.Enqueued, Refused: done.Refused, ExistingCount: done.Existing, Problem: done.Problem}
			continue
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			s.Fatalf("line %q: %v", text, err)
		}
		answers = append(answers, l)
	}
	return answers, last
}

// part of: I1, X1
//
// A wrong line is refused, wherever it is; the jobs of the other lines are enqueued.
func TestTrap30_AWrongLineIsRefusedByItself(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var body strings.Builder
	const lines = 1_200
	for i := range lines {
		switch i + 1 {
		case 3, 700:
			body.WriteString(`{"kind":"k","payload":`)
		case 4:
			body.WriteString(`{"kind":"k","payload":2,"key":"a"}`) // another payload than in line 1
		case 5:
			body.WriteString(`{"kind":"k k","payload":1}`)
		default:
			fmt.Fprintf(&body, `{"kind":"k","payload":1,"key":"%c"}`, "ab"[min(i, 1)])
		}
		body.WriteString("\r\n\n"[min(i%2, 1):])
	}
	answers, last := s.lines(body.String())
	wrong := map[int]string{}
	for _, a := range answers {
		if a.Problem != "" {
			wrong[len(wrong)] = a.Problem
		}
	}
	want := lineOut{Complete: true, Enqueued: 2, Refused: 4, ExistingCount: lines - 6, Lines: last.Lines}
	if last != want || len(answers) != lines || len(wrong) != 4 {
		t.Errorf("got %d answers, %v refused and the end %+v, want %d answers and the end %+v", len(answers), wrong, last, lines, want)
	}
	s.refused("invalid-field", "POST", "/api/jobs", `{}`, "Content-Type: application/x-ndjson", "Idempotency-Key: a")
	if _, last := s.lines(""); !last.Complete || last.Lines != 0 {
		t.Errorf("an empty body: got the end %+v, want no lines", last)
	}
}

// part of: X3
func TestX3_LinesAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, payloadMax(100))
	tooLong := 6*100 + 8*job.AttrsMax
	answers, last := s.lines(`{"kind":"k","payload":"` + strings.Repeat("x", tooLong) + "\"}\n" + `{"kind":"k","payload":1}`)
	if !last.Complete || len(answers) != 2 || answers[0].Problem != "too-large" || answers[1].ID == "" {
		t.Errorf("a long line: got %+v and %+v, want it refused and the next one enqueued", answers, last)
	}
	for n, complete := range map[int]bool{api.LinesMax - 1: true, api.LinesMax: true, api.LinesMax + 1: false} {
		if _, last := s.lines(strings.Repeat("\n", n)); last.Complete != complete || last.Lines != min(n, api.LinesMax) {
			t.Errorf("%d lines: got the end %+v, want complete %t", n, last, complete)
		}
	}
	if _, last := s.lines("{\"kind\":\"k\",\"payload\":1}\n" + strings.Repeat(strings.Repeat(" ", 1<<20-1)+"\n", 64)); last.Complete || last.Enqueued != 1 || last.Problem != "too-large" {
		t.Errorf("a body above the limit: got the end %+v, want the first line in and the reason", last)
	}
}
