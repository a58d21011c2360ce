// Package line is the format in which the worker processes of the test report what happens: one
// JSON object per line.
package line

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/redrive/redrive/job"
)

// The values of Line.Op.
const (
	Up     = "up"     // the process has started to work
	Begin  = "begin"  // a handler has got a run
	End    = "end"    // the handler of a run is about to return
	Taken  = "taken"  // a call that enqueues a job has returned
	Policy = "policy" // the policy has changed; new decisions use it
)

// Line is one event in the output of a worker process.
type Line struct {
	Op   string    `json:"op"`
	At   int64     `json:"at"`             // the time of the event, in microseconds since 1970
	Call int64     `json:"call,omitempty"` // start of the call that enqueued the job, in microseconds since 1970
	ID   job.ID    `json:"id,omitempty"`
	Run  job.Token `json:"run,omitempty"`
	Kind string    `json:"kind,omitempty"`
	Note string    `json:"note,omitempty"`

	Existing bool `json:"existing,omitempty"` // whether the call found an existing job with its key

	From string `json:"-"` // the process that printed the line
}

// Printer prints lines. It is safe for concurrent use.
type Printer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewPrinter returns a printer of lines to w.
func NewPrinter(w io.Writer) *Printer { return &Printer{w: w} }

// Print prints one line immediately.
func (p *Printer) Print(l Line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.w.Write(append(text, '\n'))
	return err
}
