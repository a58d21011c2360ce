// Package reports reads what a command says about its run: lines that it writes to the file
// descriptor that the variable REDRIVE_FD names. Each line is a word, such as "progress" or
// "code", a blank, and a value.
//
// A line that cannot be used changes nothing. It is counted, and the first such line is kept for
// a message. So a command that writes anything at all to the descriptor cannot harm its run.
package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// Limits of what a command may say.
const (
	LineMax    = job.ResultMax + 64 // bytes of one line, so that the largest result fits
	LinesMax   = 1_000_000          // lines of one run; what follows them is not read
	DetailsMax = 64                 // different keys of details
	// FeedbackMax is how many feedbacks are passed on. The store has a limit of its own for each job.
	FeedbackMax = 100
)

// Run receives what takes effect while the command runs.
type Run interface {
	Progress(done, total int64, note string)
	AddCost(usd float64)
	Feedback(text string) error
}

// Said is what a command has said about the end of its run. Of several lines with the same word,
// or details with the same key, the last counts.
type Said struct {
	Code       string
	Class      failure.Class
	Message    string
	Permanent  bool
	RetryAfter time.Duration
	Dependency string
	Details    []any // keys and values, as failure.Code takes them
	Result     []byte
	Snooze     time.Duration // 0 means that the command has not asked for a snooze
	Cancel     bool
	Reason     string // of the cancellation
}

// Reader reads the lines of one command. It is an io.Writer that never fails. Its memory has a
// limit, whatever the command writes. It is not safe for concurrent use.
type Reader struct {
	Said Said

	run       Run
	line      []byte // the beginning of a line whose end has not come yet
	long      bool   // whether this line is too long, and is skipped
	number    int    // the number of the line, from 1
	size      int    // bytes of the details
	progress  *progress
	feedbacks int
	mistakes  int
	first     string // what is wrong with the first line that could not be used
}

type progress struct {
	done, total int64
	note        string
}

// New returns a reader that passes progress, costs and feedback on to a run.
func New(run Run) *Reader { return &Reader{run: run, number: 1} }

// Write implements io.Writer. Of several progress lines in one p, only the last is passed on.
func (r *Reader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && r.number <= LinesMax {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			r.add(p)
			break
		}
		r.end(p[:end])
		p = p[end+1:]
	}
	if r.progress != nil {
		r.run.Progress(r.progress.done, r.progress.total, r.progress.note)
		r.progress = nil
	}
	return n, nil
}

// add adds a part of a line.
func (r *Reader) add(part []byte) {
	if r.long || len(r.line)+len(part) > LineMax {
		r.long, r.line = true, r.line[:0]
		return
	}
	r.line = append(r.line, part...)
}

// end obeys a line whose last part has come.
func (r *Reader) end(last []byte) {
	line := last
	if len(r.line) > 0 || r.long || len(last) > LineMax {
		r.add(last)
		line = r.line
	}
	if r.long {
		r.wrong(fmt.Errorf("it has more than %d bytes", LineMax))
	} else if err := r.obey(bytes.TrimSuffix(line, []byte("\r"))); err != nil {
		r.wrong(err)
	}
	r.line, r.long = r.line[:0], false
	if r.number++; r.number > LinesMax {
		r.wrong(fmt.Errorf("a command may write %d lines, and the lines after them are not read", LinesMax))
	}
}

// wrong counts a line that could not be used.
func (r *Reader) wrong(err error) {
	r.mistakes++
	if r.first == "" {
		r.first = fmt.Sprintf("line %d: %v", r.number, err)
	}
}

// Close must be called after the last Write. A line without an end is not obeyed, because the rest
// of it may be missing.
func (r *Reader) Close() {
	switch {
	case r.long:
		r.wrong(fmt.Errorf("it has more than %d bytes, and no line end", LineMax))
	case len(r.line) > 0:
		r.wrong(fmt.Errorf("it has no line end, so it may be incomplete"))
	}
	r.line, r.long = nil, false
}

// Mistake describes the lines that could not be used. It is "" if every line could be used.
func (r *Reader) Mistake() string {
	switch r.mistakes {
	case 0:
		return ""
	case 1:
		return r.first
	default:
		return fmt.Sprintf("%s (and %d more lines)", r.first, r.mistakes-1)
	}
}

func (r *Reader) obey(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
		return fmt.Errorf("it is not a text in UTF-8")
	}
	name, value, _ := strings.Cut(string(line), " ")
	for i := range words {
		if words[i].name == name {
			return words[i].obey(r, strings.TrimSpace(value))
		}
	}
	return unknown(name)
}

// detail keeps a detail. A value that is JSON stays JSON, any other is a text.
func (r *Reader) detail(value string) error {
	key, text, _ := strings.Cut(value, " ")
	text = strings.TrimSpace(text)
	switch {
	case key == "":
		return fmt.Errorf("detail needs a key and a value, such as: detail url https://example.org/a.png")
	case len(key) > failure.CodeMax:
		return fmt.Errorf("detail: the key has %d bytes; at most %d are allowed", len(key), failure.CodeMax)
	}
	at := len(r.Said.Details)
	size := r.size + len(key) + len(text)
	for i := 0; i < len(r.Said.Details); i += 2 {
		if r.Said.Details[i] == key {
			at, size = i, size-len(key)-r.sizeOf(i+1)
		}
	}
	switch {
	case at == 2*DetailsMax:
		return fmt.Errorf("detail %s: there are %d other details, and no more are allowed", key, DetailsMax)
	case size > failure.DetailsMax:
		return fmt.Errorf("detail %s: all details have %d bytes; at most %d are allowed", key, size, failure.DetailsMax)
	}
	r.size = size
	var of any = text
	if json.Valid([]byte(text)) {
		of = json.RawMessage(text)
	}
	if at == len(r.Said.Details) {
		r.Said.Details = append(r.Said.Details, key, of)
	} else {
		r.Said.Details[at+1] = of
	}
	return nil
}

// sizeOf returns the size of the value of a detail in bytes.
func (r *Reader) sizeOf(i int) int {
	switch v := r.Said.Details[i].(type) {
	case string:
		return len(v)
	case json.RawMessage:
		return len(v)
	}
	return 0
}
