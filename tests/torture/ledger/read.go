package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/plan"
)

// Read returns the lines of one ledger. An incomplete last line is left out: the process died while
// it wrote that line, and has not acted on it.
func Read(path string) ([]Line, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	var lines []Line
	for r := bufio.NewReader(f); ; {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		var line Line
		if err == nil {
			err = json.Unmarshal(text, &line)
		}
		if err != nil {
			return nil, fmt.Errorf("read ledger %s, line %d: %w", path, len(lines)+1, err)
		}
		lines = append(lines, line)
	}
}

// Notes are the merged ledgers of a round.
type Notes struct {
	Enqueues []check.Enqueue
	Runs     []check.Run
	Writes   []check.Write
	Notices  []check.Notice
	Begins   []store.Run
	Plans    map[string]plan.Plan // the plans of the jobs, by the name of the submission
	Stalls   []Stall
	Returned int      // number of members that came back as other jobs
	InTx     []string // names of the submissions that were enqueued together with a row of the application
}

// Stall is a time in which a process got no processor.
type Stall struct {
	Holder   string
	From, To job.Micros
}

// ReadAll reads the ledgers that match a pattern, in the order of their names, which must be the
// order in which they were begun.
func ReadAll(pattern string) (*Notes, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("find the ledgers %s: %w", pattern, err)
	}
	m := merger{
		notes:    Notes{Plans: make(map[string]plan.Plan)},
		enqueues: make(map[string]int), runs: make(map[store.Run]int), writes: make(map[outcome]int), keys: make(map[[2]string]job.ID),
	}
	for _, path := range paths {
		lines, err := Read(path)
		if err != nil {
			return nil, err
		}
		for i := range lines {
			m.add(&lines[i])
		}
	}
	return &m.notes, nil
}

// merger merges lines. Its maps hold positions in the slices of Notes.
type merger struct {
	notes    Notes
	enqueues map[string]int
	runs     map[store.Run]int
	writes   map[outcome]int
	keys     map[[2]string]job.ID // the jobs of the members, by batch and key
}

type outcome struct {
	store.Run
	cause job.Cause
	to    job.State
}

func (m *merger) add(l *Line) {
	run := store.Run{ID: l.ID, Token: l.Token}
	switch l.Op {
	case Submit:
		m.submit(l)
	case Taken:
		e := &m.notes.Enqueues[m.enqueues[l.Name]]
		e.Answer, e.ID, e.Existing, e.Discard = check.Written, l.ID, l.Existing, check.Kept
		if l.Batch != "" {
			m.member([2]string{l.Batch, l.Key}, l.ID)
		}
	case Refused:
		// After a call without an answer, a refusal does not prove that the job is not stored.
		if e := &m.notes.Enqueues[m.enqueues[l.Name]]; !e.Again {
			e.Answer = check.Refused
		}
	case Start:
		m.notes.Begins = append(m.notes.Begins, run)
	case Begin:
		m.runs[run] = len(m.notes.Runs)
		m.notes.Runs = append(m.notes.Runs, check.Run{Job: l.ID, Life: l.Life, Token: l.Token, Holder: l.Holder,
			Start: job.Micros(l.At), Digest: l.Digest})
	case Finish:
		r := &m.notes.Runs[m.runs[run]]
		r.End, r.Result, r.Error = job.Micros(l.At), l.Result, l.Error
	case Settle:
		m.settle(outcome{run, job.Cause(l.Cause), l.To})
	case Settled:
		m.notes.Writes[m.writes[outcome{run, job.Cause(l.Cause), l.To}]].Answer = check.Written
	case Late:
		m.notes.Writes[m.writes[outcome{run, job.Cause(l.Cause), l.To}]].Answer = check.Refused
	case Sent:
		m.notes.Notices = append(m.notes.Notices, check.Notice{Job: l.ID, ID: l.Notice, Causes: l.Causes})
	case Discard:
		m.notes.Enqueues[m.enqueues[l.Name]].Discard = check.PerhapsDiscarded
	case Discarded:
		m.notes.Enqueues[m.enqueues[l.Name]].Discard = check.Discarded
	case Draft, Published, Drop: // for the next client
	case Stalled:
		m.notes.Stalls = append(m.notes.Stalls, Stall{l.Holder, job.Micros(l.From), job.Micros(l.At)})
	}
}

// member counts members that come back: another job has the key than before.
func (m *merger) member(key [2]string, id job.ID) {
	if m.keys[key] != 0 && m.keys[key] != id {
		m.notes.Returned++
	}
	m.keys[key] = id
}

func (m *merger) submit(l *Line) {
	if at, ok := m.enqueues[l.Name]; ok {
		if e := &m.notes.Enqueues[at]; e.Answer == check.Unknown {
			e.Again = true
		}
		return
	}
	m.enqueues[l.Name] = len(m.notes.Enqueues)
	m.notes.Plans[l.Name] = l.Plan
	if l.InTx {
		m.notes.InTx = append(m.notes.InTx, l.Name)
	}
	e := check.Enqueue{Name: l.Name, Kind: l.Plan.Kind(), Key: l.Key, Digest: l.Digest, Deadline: job.Micros(l.Deadline)}
	if l.Batch != "" {
		e.Key = "" // the key counts in the batch only
	}
	m.notes.Enqueues = append(m.notes.Enqueues, e)
}

func (m *merger) settle(o outcome) {
	if at, ok := m.writes[o]; ok {
		if w := &m.notes.Writes[at]; w.Answer == check.Unknown {
			w.Again = true
		}
		return
	}
	m.writes[o] = len(m.notes.Writes)
	m.notes.Writes = append(m.notes.Writes, check.Write{Run: o.Run, Cause: o.cause, To: o.to})
}
