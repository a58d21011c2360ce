// Package ledger stores the records of the torture test. Clients and handlers write, outside of the
// store and durably, what they are about to do and what answer they got. Afterwards the test
// compares the ledgers with the stored data.
package ledger

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/tests/torture/plan"
)

// Op says what a line records.
type Op string

// The operations. The first operation of each group is recorded before the call, the other
// operations after it. If no line of them follows, the answer of the call is not known.
const (
	Submit  Op = "submit"  // a client is about to enqueue Name
	Taken   Op = "taken"   // the store accepted the job as ID
	Refused Op = "refused" // the store refused the job

	Start  Op = "start"  // the worker is about to report to the store that run Token of job ID begins
	Begin  Op = "begin"  // a handler has got run Token of job ID
	Finish Op = "finish" // the handler is about to return

	Settle  Op = "settle"  // a worker is about to write the outcome of a run
	Settled Op = "settled" // the store accepted the outcome
	Late    Op = "late"    // the store answered that the lease is lost

	Draft     Op = "draft"     // a client is about to create the batch Batch
	Published Op = "published" // the store has published the batch
	Drop      Op = "drop"      // a client is about to discard the batch Batch with all its members

	Discard   Op = "discard"   // a client is about to discard the member Name, a draft
	Discarded Op = "discarded" // the store has discarded it

	Sent Op = "sent" // a handler has sent the notice Notice, which is about Causes deaths and outcomes

	Stalled Op = "stalled" // a worker has run again since At; it got no processor since From
)

// Line is one line of a ledger.
type Line struct {
	Op     Op     `json:"op"`
	At     int64  `json:"at"` // the time of the operation, in microseconds since 1970
	From   int64  `json:"from,omitempty"`
	Holder string `json:"holder,omitempty"`

	Name     string    `json:"name,omitempty"` // the name of the submission
	Key      string    `json:"key,omitempty"`
	Plan     plan.Plan `json:"plan,omitempty"`
	Pad      int       `json:"pad,omitempty"`    // the size of the padding in the payload, in bytes
	Digest   string    `json:"digest,omitempty"` // the digest of the job's payload
	InTx     bool      `json:"in_tx,omitempty"`  // whether the job was enqueued in a transaction of the application
	Existing bool      `json:"existing,omitempty"`
	Deadline int64     `json:"deadline,omitempty"` // the job's deadline, in microseconds since 1970; 0 without one
	Batch    string    `json:"batch,omitempty"`    // the key of the batch of which the job is a member; Key is then unique in the batch

	ID     job.ID    `json:"id,omitempty"`
	Life   int32     `json:"life,omitempty"`
	Token  job.Token `json:"token,omitempty"`
	Cause  uint8     `json:"cause,omitempty"` // the cause of the outcome, as the number of a job.Cause
	To     job.State `json:"to,omitempty"`
	Result string    `json:"result,omitempty"` // the digest of the job's result
	Error  string    `json:"error,omitempty"`

	Notice string `json:"notice,omitempty"` // the id of the notice
	Causes int    `json:"causes,omitempty"`
}

// Book is a ledger that is being written. It is safe for concurrent use. Concurrent lines share one
// fsync.
type Book struct {
	f     *os.File
	notes chan note
}

type note struct {
	text []byte
	done chan error
}

// notesMax is the largest number of calls of Note that share an fsync.
const notesMax = 256

// Open creates the ledger of one process. Its goroutine runs as long as the process.
func Open(path string) (*Book, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	b := &Book{f: f, notes: make(chan note, notesMax)}
	go b.write()
	return b, nil
}

// Note writes lines and returns when they are durable.
func (b *Book) Note(lines ...Line) error {
	var text []byte
	for i := range lines {
		line, err := json.Marshal(&lines[i])
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		text = append(append(text, line...), '\n')
	}
	n := note{text, make(chan error, 1)}
	b.notes <- n
	return <-n.done
}

func (b *Book) write() {
	for first := range b.notes {
		group := []note{first}
		text := first.text
		for len(b.notes) > 0 && len(group) < notesMax {
			n := <-b.notes
			group = append(group, n)
			text = append(text, n.text...)
		}
		_, err := b.f.Write(text)
		if err == nil {
			err = b.f.Sync()
		}
		for _, n := range group {
			n.done <- err
		}
	}
}
