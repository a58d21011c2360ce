package api

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/server/access"
)

// exportFormats are the media types of an export by its format.
var exportFormats = map[string]string{"json": "application/json", "ndjson": MediaLines, "csv": "text/csv; charset=utf-8"}

// headerComplete is the trailer of a complete export: the number of its rows.
const headerComplete = "X-Export-Complete"

// exports has the callers that have an export under way.
type exports struct {
	mu  sync.Mutex
	who map[string]bool
}

// begin returns a function that ends the export of a caller, or nil if it has one under way.
func (e *exports) begin(c *access.Caller) (end func()) {
	name := c.Key + "\x00" + c.Actor
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.who == nil {
		e.who = make(map[string]bool)
	}
	if e.who[name] {
		return nil
	}
	e.who[name] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.who, name)
	}
}

// ExportEnd is the last line of an export in JSON lines. An export without this line is incomplete.
type ExportEnd struct {
	Complete bool  `json:"complete"`
	Count    int64 `json:"count"` // the number of rows
}

// exportDead answers with all dead letters that a filter selects. If it fails after the answer has
// begun, it closes the connection, so that nobody takes an incomplete export for a complete one.
func (a *API) exportDead(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f := q.deadFilter(c)
	format := q.text("format")
	if format == "" {
		format = "json"
	}
	if exportFormats[format] == "" {
		q.add("format", fmt.Sprintf("%.40q: must be csv, json or ndjson", format), nil)
	}
	raw := q.flag("raw")
	if err := q.problem(); err != nil {
		return err
	}
	clean := &failure.SanitizeOptions{Emails: a.o.HideEmails}
	if raw {
		if clean = nil; !c.Caller.Roles.Any(access.Administer) {
			return Forbidden.New("An export with raw=true has the secrets in payloads; it needs the role administer.")
		}
	}
	end := a.exports.begin(&c.Caller)
	if end == nil {
		return RateLimited.New("Another export of this caller is under way; a caller has one at a time.").After(retryAfterExport)
	}
	defer end()
	out := &exportWriter{c: c, format: format, name: "dead-letters"}
	buffered := bufio.NewWriterSize(out, 64<<10)
	var rows io.Writer = buffered
	if format == "json" {
		rows = &arrayWriter{to: buffered}
	}
	e := wire.NewExporter(rows, format == "csv", clean)
	e.NoPayloads = !a.seesPayloads(c)
	err := e.Begin()
	if err == nil {
		err = e.Export(c.Context(), a.client, f, func() error { return out.extend() })
	}
	if err == nil {
		err = finishExport(buffered, format, e.Rows())
	}
	if err == nil {
		err = buffered.Flush()
	}
	return a.endExport(c, out, e.Rows(), err)
}

// retryAfterExport is the number of seconds after which a caller may ask again for a second export.
const retryAfterExport = 5

// finishExport writes what follows the last dead letter.
func finishExport(out io.Writer, format string, rows int64) error {
	switch {
	case format == "ndjson":
		return wire.Encode(out, ExportEnd{Complete: true, Count: rows}, "")
	case format == "json" && rows == 0:
		_, err := io.WriteString(out, "[]\n")
		return err
	case format == "json":
		_, err := io.WriteString(out, "]\n")
		return err
	}
	return nil
}

// exportWriter writes the header of the answer before its first bytes.
type exportWriter struct {
	c      *Call
	format string
	name   string // of the file
	begun  bool
}

func (w *exportWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	h := w.c.W.Header()
	name := map[string]string{"json": "json", "ndjson": "jsonl", "csv": "csv"}[w.format]
	h.Set("Content-Type", exportFormats[w.format])
	h.Set("Content-Disposition", `attachment; filename="`+w.name+`.`+name+`"`)
	h.Set("Trailer", headerComplete)
	w.c.W.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (w *exportWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.c.W.Write(b)
}

// extend gives the client time to read the next page. If the client reads nothing in this time, the
// answer ends.
func (w *exportWriter) extend() error {
	// a writer without deadlines, as in a program's own tests, is fine
	_ = http.NewResponseController(w.c.W).SetWriteDeadline(systemNow().Add(WriteTime))
	return w.c.Context().Err()
}

// arrayWriter turns JSON objects, one in each call of Write, into the beginning of an array.
type arrayWriter struct {
	to    io.Writer
	begun bool
}

// Write implements io.Writer.
func (w *arrayWriter) Write(object []byte) (int, error) {
	before := ","
	if !w.begun {
		w.begun, before = true, "["
	}
	if _, err := io.WriteString(w.to, before); err != nil {
		return 0, err
	}
	return w.to.Write(object)
}
