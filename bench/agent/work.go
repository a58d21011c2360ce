package agent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Args are the arguments of every job. Their JSON has the configured size.
type Args struct {
	N   int    `json:"n"`
	Pad string `json:"pad"`
}

// Work is the handler of all systems: it only counts the runs. It is safe for concurrent use.
type Work struct {
	failing int
	size    int
	pad     string
	total   atomic.Int64
	ran     []atomic.Uint32 // the number of runs of each job
	acked   *os.File        // the ledger of acknowledged jobs; nil if the agent has no ledger
	done    *os.File
	tell    func(n int, at time.Time) // a function that is called at each start of a job; may be nil
}

// NewWork returns the work of an agent. It calls the given function at each start of a job if the
// configuration asks for it.
func NewWork(c Config, tell func(n int, at time.Time)) (*Work, error) {
	w := &Work{
		failing: c.Failing, size: c.Payload, ran: make([]atomic.Uint32, c.Jobs),
		pad: strings.Repeat("x", c.Payload),
	}
	if c.Tell {
		w.tell = tell
	}
	if c.Ledger == "" {
		return w, nil
	}
	var err error
	if w.acked, err = openLedger(c.Ledger + ".acked"); err != nil {
		return nil, err
	}
	w.done, err = openLedger(c.Ledger + ".ran")
	return w, err
}

func openLedger(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// Args returns the arguments of job n.
func (w *Work) Args(n int) Args {
	const frame = len(`{"n":,"pad":""}`)
	return Args{n, w.pad[:max(0, w.size-frame-len(strconv.Itoa(n)))]}
}

// Fails reports whether job n is one of the jobs that must fail, if the given percentage of all
// jobs must fail. The failing jobs are spread evenly.
func Fails(n, failing int) bool { return n*37%100 < failing }

// Do runs job n.
func (w *Work) Do(n int) error {
	if w.tell != nil {
		w.tell(n, time.Now())
	}
	if n >= 0 && n < len(w.ran) {
		w.ran[n].Add(1)
	}
	if w.done != nil {
		if _, err := w.done.WriteString(strconv.Itoa(n) + "\n"); err != nil {
			return err
		}
	}
	w.total.Add(1)
	if Fails(n, w.failing) {
		return unavailable(n)
	}
	return nil
}

// ack records that job n was stored with this id.
func (w *Work) ack(n int, id string) error {
	if w.acked == nil {
		return nil
	}
	_, err := w.acked.WriteString(strconv.Itoa(n) + " " + id + "\n")
	return err
}

// Runs holds the numbers of runs. Ran has a bit for each job that ran at least once.
type Runs struct {
	Total int64  `json:"total"`
	Ran   []byte `json:"ran"`
}

func (w *Work) runs() Runs {
	bits := make([]byte, (len(w.ran)+7)/8)
	for n := range w.ran {
		if w.ran[n].Load() > 0 {
			bits[n/8] |= 1 << (n % 8)
		}
	}
	return Runs{w.total.Load(), bits}
}

// statusError is an error as the clients of HTTP services return it.
type statusError struct {
	status  int
	request uint64
}

func (e *statusError) Error() string {
	return "unexpected status " + strconv.Itoa(e.status) + " Service Unavailable: upstream connect error or " +
		"disconnect/reset before headers (request id req_" + strconv.FormatUint(e.request, 16) + ")"
}

// StatusCode returns the HTTP status.
func (e *statusError) StatusCode() int { return e.status }

// unavailable returns an error text of about 200 bytes, with different numbers each time.
func unavailable(n int) error {
	request := (uint64(n) + 1) * 0x9E3779B97F4A7C15
	return fmt.Errorf("fetch https://media.example.com/v2/renditions/%d/preview.mp4: %w", 40_000_000+n, &statusError{503, request})
}

// Union combines two sets of bits.
func Union(all, more []byte) []byte {
	if len(all) < len(more) {
		all = append(all, make([]byte, len(more)-len(all))...)
	}
	for i, b := range more {
		all[i] |= b
	}
	return all
}
