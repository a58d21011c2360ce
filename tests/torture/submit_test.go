//go:build linux

package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/plan"
)

// clientsPerRound is the number of clients that send requests at the same time.
const clientsPerRound = 4

// clientPausePerRequest is the longest pause of a client between two requests.
const clientPausePerRequest = 60 * time.Millisecond

// submitter is one client. It submits jobs and acts on them, and records each request before it is
// sent and each answer.
type submitter struct {
	*caller
	name string
	made int
	book *ledger.Book
	old  []sent // the requests with a key that were answered
}

// sent is a request with a key, with its jobs.
type sent struct {
	name  string
	q     request
	lines []ledger.Line
}

func (s *served) submitter(r *round, n int) *submitter {
	c := &submitter{caller: s.caller(r, n, 8), name: fmt.Sprintf("%04d-http", n)}
	var err error
	if c.book, err = ledger.Open(r.ledger(c.name)); err != nil {
		r.Fatal(err)
	}
	return c
}

// work sends requests until the faults are over.
func (c *submitter) work() {
	for !c.over() && !c.Failed() {
		switch n := c.rand.IntN(100); {
		case n < 25:
			c.single()
		case n < 45:
			c.array()
		case n < 60:
			c.jsonLines()
		case n < 68:
			c.plain()
		case n < 75 && len(c.old) > 0:
			c.submit(c.old[c.rand.IntN(len(c.old))], true) // as a client that has lost its memory
		case n < 79:
			c.redrive()
		default:
			c.act()
		}
		waitOr(c.finished, time.Duration(c.rand.Int64N(int64(clientPausePerRequest))))
	}
}

// lines makes random jobs.
func (c *submitter) lines(n int) []ledger.Line {
	lines := make([]ledger.Line, n)
	for i := range lines {
		c.made++
		l := ledger.Line{Op: ledger.Submit, Name: fmt.Sprintf("%s-%d", c.name, c.made), Plan: plan.Pick(c.rand.IntN(100))}
		if l.Plan == plan.Hasty { // its deadline may be over when the request is repeated
			l.Plan = plan.Bad
		}
		if c.rand.IntN(20) == 0 {
			l.Pad = c.rand.IntN(8 << 10)
		}
		l.Digest = check.Digest(plan.Payload(l.Name, l.Plan, l.Pad))
		lines[i] = l
	}
	return lines
}

// note writes lines to the ledger, with an operation.
func (c *submitter) note(op ledger.Op, lines []ledger.Line) {
	now := time.Now().UnixMicro()
	for i := range lines {
		lines[i].Op, lines[i].At = op, now
	}
	if err := c.book.Note(lines...); err != nil {
		c.Error(err)
	}
}

// spec returns a job as the body of a request has it.
func spec(l *ledger.Line) string {
	b, err := json.Marshal(struct {
		Kind        string          `json:"kind"`
		Key         string          `json:"key,omitempty"`
		Correlation string          `json:"correlation"`
		Payload     json.RawMessage `json:"payload"`
	}{l.Plan.Kind(), l.Key, l.Name, plan.Payload(l.Name, l.Plan, l.Pad)})
	if err != nil {
		panic(err) // this cannot happen, because the payload is JSON
	}
	return string(b)
}

func specs(lines []ledger.Line, between string) string {
	all := make([]string, len(lines))
	for i := range lines {
		all[i] = spec(&lines[i])
	}
	return strings.Join(all, between)
}

func (c *submitter) single() {
	lines := c.lines(1)
	name := "key of " + lines[0].Name
	c.submit(sent{name, request{method: http.MethodPost, path: "/api/jobs", body: spec(&lines[0]),
		header: map[string]string{"Idempotency-Key": name}}, lines}, false)
}

func (c *submitter) array() {
	lines := c.lines(2 + c.rand.IntN(7))
	name := "array of " + lines[0].Name
	c.submit(sent{name, request{method: http.MethodPost, path: "/api/jobs", body: "[" + specs(lines, ",") + "]",
		header: map[string]string{"Idempotency-Key": name}}, lines}, false)
}

// plain submits jobs without a key. A lost answer stays lost.
func (c *submitter) plain() {
	lines := c.lines(1 + c.rand.IntN(4))
	c.note(ledger.Submit, lines)
	a := c.send(&request{method: http.MethodPost, path: "/api/jobs", body: "[" + specs(lines, ",") + "]", once: true})
	switch {
	case unknown(a.status):
	case a.status == http.StatusCreated:
		c.taken(lines, a.body)
	default:
		c.note(ledger.Refused, lines)
	}
}

// receipts reads the ids of an answer.
func (c *submitter) receipts(body []byte) (ids []job.ID, existing []bool) {
	type receipt struct {
		ID       job.ID
		Existing bool
	}
	var many []receipt
	err := json.Unmarshal(body, &many)
	if bytes.HasPrefix(body, []byte("{")) {
		many = make([]receipt, 1)
		err = json.Unmarshal(body, &many[0])
	}
	if err != nil {
		c.Errorf("round %d: an answer cannot be read: %v\n%.300s", c.n, err, body)
	}
	for _, r := range many {
		ids, existing = append(ids, r.ID), append(existing, r.Existing)
	}
	return ids, existing
}

// taken records the receipts of jobs.
func (c *submitter) taken(lines []ledger.Line, body []byte) []job.ID {
	ids, existing := c.receipts(body)
	for i := range lines {
		if i < len(ids) {
			lines[i].ID, lines[i].Existing = ids[i], existing[i]
		}
	}
	c.note(ledger.Taken, lines)
	c.web.acked.Add(int64(len(ids)))
	return ids
}

// submit sends a request with a key until it is answered.
func (c *submitter) submit(s sent, again bool) {
	if !again {
		c.mu.Lock()
		c.requests = append(c.requests, check.Request{Name: s.name, N: len(s.lines)})
		c.mu.Unlock()
		c.note(ledger.Submit, s.lines)
	}
	a := c.send(&s.q)
	switch a.status {
	case http.StatusOK, http.StatusCreated:
		if again && a.status != http.StatusOK && a.header.Get("Idempotent-Replayed") == "" {
			c.Errorf("round %d: the repeat of %s was answered as new: %d %.300s", c.n, s.name, a.status, a.body)
		}
		c.noteAnswer(s.name, c.taken(s.lines, a.body)...)
		if !again {
			c.old = append(c.old, s)
		}
	case 0, http.StatusGatewayTimeout: // the round has failed already
	default:
		c.Errorf("round %d: %s was answered with %d %.500s", c.n, s.name, a.status, a.body)
	}
}

// jsonLines submits JSON lines, each with a key, until all of them are answered.
func (c *submitter) jsonLines() {
	lines := c.lines(1 + c.rand.IntN(20))
	for i := range lines {
		lines[i].Key = "line of " + lines[i].Name
	}
	c.mu.Lock()
	for i := range lines {
		c.requests = append(c.requests, check.Request{Name: lines[i].Key, N: 1})
	}
	c.mu.Unlock()
	c.note(ledger.Submit, lines)
	q := request{method: http.MethodPost, path: "/api/jobs", body: specs(lines, "\n"), header: map[string]string{"Content-Type": "application/x-ndjson"}}
	for begun := time.Now(); !c.linesAnswered(lines, c.send(&q)) && !c.Failed(); {
		if time.Since(begun) > patience {
			c.Errorf("round %d: %s was not answered completely within %s", c.n, lines[0].Key, patience)
		}
		c.faulted(repeatedRequests)
		waitOr(c.heard, 20*time.Millisecond)
	}
}

// linesAnswered records the receipts in an answer, and reports whether the answer is complete.
func (c *submitter) linesAnswered(lines []ledger.Line, a reply) (complete bool) {
	if a.status != http.StatusOK {
		if !temporary(a.status) && a.status != 0 {
			c.Errorf("round %d: lines were answered with %d %.500s", c.n, a.status, a.body)
		}
		return false
	}
	answered := 0
	for text := range bytes.Lines(a.body) {
		var out struct {
			Line            int
			ID              job.ID
			Existing        any // a number in the last line
			Complete        bool
			Problem, Detail string
		}
		if err := json.Unmarshal(text, &out); err != nil {
			c.Errorf("round %d: a line of an answer cannot be read: %v\n%.300s", c.n, err, text)
			return true
		}
		switch {
		case out.Line == 0:
			complete = out.Complete
		case out.Line > len(lines) || out.ID == 0:
			if temporaryProblem(out.Problem) {
				continue
			}
			c.Errorf("round %d: line %d was answered with %.300s", c.n, out.Line, text)
		default:
			l := &lines[out.Line-1]
			l.ID, l.Existing = out.ID, out.Existing == true
			c.note(ledger.Taken, lines[out.Line-1:out.Line])
			c.noteAnswer(l.Key, out.ID)
			answered++
		}
	}
	return complete && answered == len(lines)
}

// temporaryProblem reports whether a line may be sent again after the problem.
func temporaryProblem(name string) bool {
	switch name {
	case "store-unavailable", "store-full", "outcome-unknown", "stopping", "starting":
		return true
	}
	return false
}
