package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/redrive/redrive/internal/words"
)

// Rows writes values as rows, one after the other: as CSV, or as one JSON object in each line.
type Rows struct {
	out     io.Writer
	columns []string // the members of an object that are the cells of its record; nil for JSON
	n       int64
	line    bytes.Buffer
}

// NewRows returns a writer of rows. If columns is not nil, it writes CSV and begins with their names.
func NewRows(out io.Writer, columns []string) (*Rows, error) {
	r := &Rows{out: out, columns: columns}
	if columns == nil {
		return r, nil
	}
	appendCSV(&r.line, columns)
	_, err := out.Write(r.line.Bytes())
	return r, err
}

// Add writes a value as one row.
func (r *Rows) Add(v any) error {
	r.line.Reset()
	if err := Encode(&r.line, v, ""); err != nil {
		return fmt.Errorf("write a row: %w", err)
	}
	if r.columns != nil {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(r.line.Bytes(), &members); err != nil {
			return fmt.Errorf("write a row: %w", err)
		}
		cells := make([]string, len(r.columns))
		for i, name := range r.columns {
			cells[i] = cellOf(members[name])
		}
		r.line.Reset()
		appendCSV(&r.line, cells)
	}
	r.n++
	_, err := r.out.Write(r.line.Bytes())
	return err
}

// N returns the number of rows that were written.
func (r *Rows) N() int64 { return r.n }

// cellOf returns a member of a JSON object as a cell. A semicolon in JSON is escaped, because
// spreadsheets may split a cell there.
func cellOf(member json.RawMessage) string {
	var text string
	switch {
	case len(member) == 0 || string(member) == "null":
		return ""
	case json.Unmarshal(member, &text) == nil:
		return words.Clean(text)
	}
	return strings.ReplaceAll(string(member), ";", `\u003b`)
}
