package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// ExportRow is one dead letter in an export.
type ExportRow struct {
	Job        job.ID            `json:"job_id"`
	Kind       string            `json:"task_type"`
	Payload    json.RawMessage   `json:"payload"` // the payload of the job; null if the job is no longer dead
	Metadata   ExportMetadata    `json:"metadata"`
	Reason     job.Reason        `json:"dlq_reason"`
	DiedAt     job.Micros        `json:"dlq_timestamp"`
	Status     job.Status        `json:"status"`
	Resolution *ExportResolution `json:"resolution"` // the last action on the dead letter; null while the dead letter is pending
	ActedAt    *job.Micros       `json:"resolved_at"`
	ActedBy    *string           `json:"resolved_by"`
}

// ExportResolution is the last action on a dead letter.
type ExportResolution struct {
	Action job.DeadAction `json:"action"`
	Notes  string         `json:"notes"`
}

// ExportMetadata holds the fields of a dead letter and its job that have no separate
// column.
type ExportMetadata struct {
	Queue       string          `json:"queue"`
	Priority    int8            `json:"priority,omitempty"`
	Owner       string          `json:"owner,omitempty"`
	Correlation string          `json:"correlation,omitempty"`
	Key         string          `json:"key,omitempty"`
	Attrs       json.RawMessage `json:"attrs,omitempty"`
	Class       string          `json:"class,omitempty"`
	Code        string          `json:"code,omitempty"`
	Group       string          `json:"group,omitempty"`
	Message     string          `json:"message,omitempty"`
	Life        int32           `json:"life"`
	Attempts    int32           `json:"attempts,omitempty"` // number of attempts in the life in which the job became dead
	Runs        job.Token       `json:"runs,omitempty"`
	CreatedAt   job.Micros      `json:"created_at,omitempty"`
	Redrive     int64           `json:"redrive,omitempty"`
	ReopenAt    job.Micros      `json:"reopen_at,omitempty"`
}

// Exporter writes dead letters as rows, one after the other.
type Exporter struct {
	out io.Writer
	csv bool
	// clean says which secrets are removed from payloads, attributes and notes; if clean is
	// nil, no secrets are removed.
	clean *failure.SanitizeOptions
	rows  int64

	line bytes.Buffer
	enc  *json.Encoder
}

// NewExporter returns an exporter that writes to out, as CSV or as one JSON object in each
// line. If clean is not nil, secrets are removed from payloads, attributes and notes.
func NewExporter(out io.Writer, asCSV bool, clean *failure.SanitizeOptions) *Exporter {
	e := &Exporter{out: out, csv: asCSV, clean: clean}
	e.enc = json.NewEncoder(&e.line)
	e.enc.SetEscapeHTML(false)
	return e
}

var exportColumns = [...]string{
	"job_id", "task_type", "payload", "metadata", "dlq_reason", "dlq_timestamp", "status", "resolution", "resolved_at", "resolved_by",
	"class", "message", "owner", // These fields of the metadata are also columns, so that a spreadsheet can filter by them.
}

// Begin writes the column names of a CSV file. It writes nothing for JSON.
func (e *Exporter) Begin() error {
	if !e.csv {
		return nil
	}
	e.line.Reset()
	appendCSV(&e.line, exportColumns[:])
	_, err := e.out.Write(e.line.Bytes())
	return err
}

// Add writes a dead letter as one row.
func (e *Exporter) Add(d *store.DeadEntry) error {
	row := e.row(d)
	e.line.Reset()
	if e.csv {
		cells, err := row.cells()
		if err != nil {
			return err
		}
		appendCSV(&e.line, cells)
	} else if err := e.enc.Encode(row); err != nil {
		return fmt.Errorf("write the dead letter of job %d as JSON: %w", d.DeadLetter.Job, err)
	}
	e.rows++
	text := e.line.Bytes()
	if !e.csv && slices.ContainsFunc(text[:len(text)-1], func(b byte) bool { return b < ' ' || b > '~' }) {
		text = Plain(text)
	}
	_, err := e.out.Write(text)
	return err
}

// Rows returns the number of rows that were written.
func (e *Exporter) Rows() int64 { return e.rows }

func (e *Exporter) row(d *store.DeadEntry) *ExportRow {
	l := &d.DeadLetter
	row := &ExportRow{
		Job: l.Job, Kind: l.Kind, Reason: l.Reason, DiedAt: l.DiedAt, Status: l.Status,
		Metadata: ExportMetadata{
			Queue: l.Queue, Owner: l.Owner, Class: l.Class, Code: l.Code, Group: l.Fingerprint, Message: l.Message, Life: l.Life,
			Redrive: l.Redrive, ReopenAt: l.ReopenAt,
		},
	}
	if j := d.Job; j != nil {
		row.Payload = e.payload(j.Payload)
		m := &row.Metadata
		m.Priority, m.Correlation, m.Key, m.Attempts, m.Runs = j.Priority, j.Correlation, j.Key, j.Counters.Attempts, j.Token
		m.CreatedAt, m.Attrs = j.CreatedAt, e.json(j.Attrs)
	}
	if l.Action != "" {
		row.Resolution = &ExportResolution{Action: l.Action, Notes: l.Note}
		if e.clean != nil {
			row.Resolution.Notes = failure.Sanitize(l.Note, e.clean)
		}
		row.ActedAt, row.ActedBy = &l.ActedAt, &l.ActedBy
	}
	return row
}

// payload returns a payload as JSON. Valid JSON stays unchanged, other text becomes a JSON
// string, and other bytes become {"base64": …}.
func (e *Exporter) payload(b []byte) json.RawMessage {
	switch {
	case len(b) == 0:
		return nil
	case isJSON(b):
		return e.json(b)
	case utf8.Valid(b):
		text := string(b)
		if e.clean != nil {
			text = failure.Sanitize(text, e.clean)
		}
		return quoted(text)
	}
	return json.RawMessage(`{"base64":"` + base64.StdEncoding.EncodeToString(b) + `"}`)
}

func (e *Exporter) json(b []byte) json.RawMessage {
	if e.clean == nil || len(b) == 0 {
		return b
	}
	return failure.SanitizeJSON(b, e.clean)
}

// cells returns the fields as cells of a CSV record. The cell of a null field is empty.
func (r *ExportRow) cells() ([]string, error) {
	cells := []string{
		r.Job.String(), r.Kind, "", "", string(r.Reason), "", r.Status.String(), "", "", "",
		words.Clean(r.Metadata.Class), words.Clean(r.Metadata.Message), words.Clean(r.Metadata.Owner),
	}
	for i, v := range map[int]any{2: r.Payload, 3: r.Metadata, 7: r.Resolution} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("write the dead letter of job %d as CSV: %w", r.Job, err)
		}
		if string(text) != "null" {
			// In JSON, semicolons can be only inside strings. They are escaped, because
			// spreadsheets may split a cell at a semicolon.
			cells[i] = strings.ReplaceAll(string(Plain(text)), ";", `\u003b`)
		}
	}
	cells[5] = exportTime(&r.DiedAt)
	cells[8] = exportTime(r.ActedAt)
	if r.ActedBy != nil {
		cells[9] = words.Clean(*r.ActedBy)
	}
	return cells, nil
}
