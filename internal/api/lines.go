package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/job"
)

// LineOut is the answer to one line: a receipt, or what is wrong with the line.
type LineOut struct {
	Line     int       `json:"line"` // number of the line, from 1
	ID       job.ID    `json:"id,omitempty"`
	Existing bool      `json:"existing,omitempty"`
	State    job.State `json:"state,omitzero"`
	// Problem is the name of the problem, such as invalid-field; the job was not enqueued.
	Problem string    `json:"problem,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Errors  []Mistake `json:"errors,omitempty"`
	// IDs are, with outcome-unknown, the ids of the jobs from this line on that may exist.
	IDs []job.ID `json:"ids,omitempty"`
}

// LinesDone is the last line of the answer.
type LinesDone struct {
	// Complete is false if the body was cut or too long, or the store has failed: the lines without an answer were not read.
	Complete bool `json:"complete"`
	Lines    int  `json:"lines"`    // lines that were read
	Enqueued int  `json:"enqueued"` // jobs that were made
	Existing int  `json:"existing"` // jobs that existed
	Refused  int  `json:"refused"`  // lines that were refused
	// Problem and Detail say why the answer is not complete.
	Problem string `json:"problem,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// hasLines reports whether the body has JSON lines.
func (c *Call) hasLines() bool {
	media, err := c.mediaType()
	return err == nil && (media == MediaLines || media == "application/jsonl" || media == "application/json-lines")
}

// lineMistakesMax is the largest number of mistakes in the answer to one line.
const lineMistakesMax = 5

// taker enqueues lines in transactions of LinesBatch jobs. The answers are kept in memory until the
// whole body is read, because many clients do not read before they have sent everything.
type taker struct {
	api  *API
	call *Call
	// many and one enqueue specs, or add them to a batch. one is used for each spec if many has refused them.
	many  func(context.Context, []redrive.Spec) ([]redrive.Receipt, error)
	one   func(context.Context, redrive.Spec) (redrive.Receipt, error)
	batch *intoBatch // nil for jobs
	out   bytes.Buffer
	specs []redrive.Spec
	lines []int // the numbers of the lines of specs
	done  LinesDone
}

// submitLines enqueues the jobs of JSON lines. A wrong line is refused; the other lines are
// enqueued.
func (a *API) submitLines(c *Call) error {
	return a.takeLines(c, &taker{api: a, call: c, many: a.client.EnqueueMany, one: a.client.Enqueue})
}

// takeLines reads the body and answers with a line for each of its lines.
func (a *API) takeLines(c *Call, t *taker) error {
	control := http.NewResponseController(c.W)
	in := bufio.NewReaderSize(http.MaxBytesReader(c.W, c.R.Body, LinesBodyMax), 64<<10)
	err := t.all(in, func() {
		_ = control.SetReadDeadline(systemNow().Add(BodyTime))              // not every connection has deadlines
		_ = control.SetWriteDeadline(systemNow().Add(BodyTime + WriteTime)) // as above
	})
	if err == nil {
		t.done.Complete = true
	} else {
		p := ProblemOf(err)
		t.done.Problem, t.done.Detail = p.kind.Name, p.Detail
		if p.Status >= http.StatusInternalServerError {
			a.o.Logger.ErrorContext(c.Context(), "JSON lines were not read to their end", "request", c.RequestID, "line", t.done.Lines, "error", err)
		}
	}
	t.write(t.done)
	return c.Bytes(http.StatusOK, MediaLines, t.out.Bytes())
}

// all reads the lines to the end of the body.
func (t *taker) all(in *bufio.Reader, alive func()) error {
	most := 6*t.api.o.PayloadMax + 8*job.AttrsMax // as in a file of jobs: JSON can write each byte as an escape of six characters
	for {
		line, tooLong, err := readLine(in, most)
		if len(line) > 0 || tooLong || err == nil {
			t.done.Lines++
		}
		if t.done.Lines > LinesMax {
			t.done.Lines--
			return errors.Join(t.flush(), TooLarge.New("the body has more than %d lines; send several requests", LinesMax))
		}
		switch {
		case tooLong:
			t.refuse(TooLarge.New("the line is longer than %d bytes", most))
		case len(bytes.TrimSpace(line)) > 0 && (err == nil || errors.Is(err, io.EOF)):
			t.line(line)
		}
		if len(t.specs) == LinesBatch || err != nil {
			if ferr := t.flush(); ferr != nil {
				return ferr
			}
			alive()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, new(*http.MaxBytesError)):
			return bodyTooLarge(LinesBodyMax)
		case err != nil:
			return InvalidJSON.New("the body was cut: %s", err)
		}
	}
}

// readLine reads a line. Of a line that is longer than most, it reads the rest and drops it.
func readLine(in *bufio.Reader, most int) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > most {
			line, tooLong = line[:0], true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// line reads one job.
func (t *taker) line(line []byte) {
	if err := strictjson.Check(line, DepthMax); err != nil {
		t.refuse(InvalidJSON.New("%s", err))
		return
	}
	if strictjson.Kind(line) != '{' {
		t.refuse(InvalidField.New("must be a job: an object"))
		return
	}
	r := &specReader{api: t.api, call: t.call, now: t.api.o.Now(), batch: t.batch}
	spec := r.spec(line, "")
	if err := r.problem(); err != nil {
		t.refuse(ProblemOf(err))
		return
	}
	t.specs, t.lines = append(t.specs, spec), append(t.lines, t.done.Lines)
}

func (t *taker) refuse(p *Problem) {
	t.done.Refused++
	t.write(LineOut{Line: t.done.Lines, Problem: p.kind.Name, Detail: p.Detail, Errors: p.Errors[:min(len(p.Errors), lineMistakesMax)]})
}

func (t *taker) write(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic("encode an answer: " + err.Error())
	}
	t.out.Write(append(text, '\n'))
}

// flush enqueues the jobs that were read. If one of them is refused because of its key or its queue,
// they are enqueued one by one.
func (t *taker) flush() error {
	specs, lines := t.specs, t.lines
	t.specs, t.lines = nil, nil
	if len(specs) == 0 {
		return nil
	}
	receipts, err := t.many(t.call.Context(), specs)
	if err == nil {
		for i := range receipts {
			t.receipt(lines[i], &receipts[i])
		}
		return nil
	}
	if ProblemOf(err).Status >= http.StatusInternalServerError {
		return t.failed(lines, err)
	}
	for i, spec := range specs {
		receipt, err := t.one(t.call.Context(), spec)
		p := (*Problem)(nil)
		if err != nil {
			p = ProblemOf(err)
		}
		switch {
		case err == nil:
			t.receipt(lines[i], &receipt)
		case p.Status >= http.StatusInternalServerError:
			return t.failed(lines[i:], err)
		default:
			t.done.Refused++
			t.write(LineOut{Line: lines[i], Problem: p.kind.Name, Detail: p.Detail, ID: p.Job})
		}
	}
	return nil
}

// failed writes the answers to lines that the store did not accept, and returns the error.
func (t *taker) failed(lines []int, err error) error {
	p := ProblemOf(err)
	t.done.Refused += len(lines)
	for i, line := range lines {
		out := LineOut{Line: line, Problem: p.kind.Name, Detail: cmp.Or(p.Detail, p.Title)}
		if i < len(p.IDs) {
			out.IDs = p.IDs[i : i+1]
		}
		t.write(out)
	}
	return fmt.Errorf("enqueue the lines %d to %d: %w", lines[0], lines[len(lines)-1], err)
}

func (t *taker) receipt(line int, r *redrive.Receipt) {
	if r.Existing {
		t.done.Existing++
	} else {
		t.done.Enqueued++
	}
	b := fmt.Appendf(t.out.AvailableBuffer(), `{"line":%d,"id":"%d",`, line, r.ID)
	if r.Existing {
		b = append(b, `"existing":true,`...)
	}
	t.out.Write(fmt.Appendf(b, "\"state\":%q}\n", stateOf(r)))
}
