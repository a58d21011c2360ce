package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store"
)

// Exporter writes dead letters as rows, one after the other.
type Exporter struct {
	out io.Writer
	csv bool
	// clean says what is removed from payloads, attributes, messages and notes; if clean is
	// nil, no secrets are removed.
	clean *failure.SanitizeOptions
	// NoPayloads leaves out payloads and attributes.
	NoPayloads bool
	rows       int64

	line bytes.Buffer
	enc  *json.Encoder
}

// NewExporter returns an exporter that writes to the given writer, as CSV or as one JSON
// object in each line. If the options are not nil, secrets are removed from payloads,
// attributes and notes.
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
	row := DeadEntryOf(d, nil, 0, e.clean)
	if e.NoPayloads {
		row.Payload, row.Metadata.Attrs = nil, nil
	}
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
	if !e.csv {
		text = Plain(text)
	}
	_, err := e.out.Write(text)
	return err
}

// Rows returns the number of rows that were written.
func (e *Exporter) Rows() int64 { return e.rows }

// cells returns the fields as cells of a CSV record. The cell of a null field is empty.
func (r *DeadEntry) cells() ([]string, error) {
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
