package api

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/server/access"
)

// The columns of the lists in CSV.
var (
	jobColumns   = strings.Fields("id kind queue state priority life runs max_attempts created_at run_at claimed_at finished_at holder owner correlation key batch reason cost_microusd sends counters last_failure")
	groupColumns = strings.Fields("group kind class code message state pending deaths dead_letters retried helped first_at last_at first_build last_build name assignee assigned_at resolved_at resolved_by regressed_at set muted_until")
	auditColumns = strings.Fields("id at actor action target before after reason via")
)

// exportFormat is the parameter of the format of an export of a list.
var exportFormat = Param{Name: "format", In: "query", Doc: "The format; default ndjson.", Enum: []string{"csv", "ndjson"}}

// exportRoute returns the route of the export of a list, with the parameters of the list but for its paging.
func exportRoute(path, name, group, what string, params []Param, handle func(*API, *Call) error) Route {
	kept := []Param{exportFormat}
	for _, p := range params {
		if p.Name != "cursor" && p.Name != "limit" {
			kept = append(kept, p)
		}
	}
	return Route{
		Method: "GET", Path: path, Name: name, Group: group, Stream: true, Roles: access.View, Params: kept,
		Doc: "Exports " + what + ". If an export fails, the server closes the connection; a complete export ends with the trailer " + headerComplete +
			", and in JSON lines with a line that says complete.",
		Out: []Answer{
			{Status: 200, Doc: "A row in each line, and a last line that says complete.", Media: MediaLines},
			{Status: 200, Doc: "A table with a header line.", Media: "text/csv"},
		},
		Handle: handle,
	}
}

// exportRows answers with the rows of a list. next returns the next rows, and none at the end.
func (a *API) exportRows(c *Call, name string, columns []string, next func(context.Context) ([]any, error)) error {
	format := c.R.URL.Query().Get("format")
	switch format {
	case "csv":
	case "", "ndjson":
		format, columns = "ndjson", nil
	default:
		return InvalidField.Mistaken(Mistake{Parameter: "format", Detail: fmt.Sprintf("%.40q: must be csv or ndjson", format)})
	}
	end := a.exports.begin(&c.Caller)
	if end == nil {
		return RateLimited.New("Another export of this caller is under way; a caller has one at a time.").After(retryAfterExport)
	}
	defer end()
	out := &exportWriter{c: c, format: format, name: name}
	buffered := bufio.NewWriterSize(out, 64<<10)
	rows, err := wire.NewRows(buffered, columns)
	for err == nil {
		var page []any
		if page, err = next(c.Context()); err != nil || len(page) == 0 {
			break
		}
		for i := range page {
			if err = rows.Add(page[i]); err != nil {
				break
			}
		}
		if err == nil {
			err = out.extend()
		}
	}
	if err == nil {
		err = finishExport(buffered, format, rows.N())
	}
	if err == nil {
		err = buffered.Flush()
	}
	return a.endExport(c, out, rows.N(), err)
}

// endExport ends the answer of an export. If it has failed after the answer had begun, it closes the
// connection, so that nobody takes an incomplete export for a complete one.
func (a *API) endExport(c *Call, out *exportWriter, rows int64, err error) error {
	if err == nil {
		out.begin()
		c.W.Header().Set(headerComplete, strconv.FormatInt(rows, 10))
		return nil
	}
	if !out.begun {
		return err
	}
	a.o.Logger.WarnContext(c.Context(), "an export failed after its answer had begun, so the connection was closed", "request", c.RequestID, "rows", rows, "error", err)
	panic(http.ErrAbortHandler)
}

// exportJobs answers with all jobs that a filter selects, without their payloads.
func (a *API) exportJobs(c *Call) error {
	f, err := a.jobFilter(c)
	if err != nil {
		return err
	}
	f.Limit, f.From = PageMax, redrive.JobCursor{}
	ended := false
	return a.exportRows(c, "jobs", jobColumns, func(ctx context.Context) (rows []any, err error) {
		for len(rows) == 0 && !ended {
			page, err := a.client.List(ctx, f)
			if err != nil {
				return nil, err
			}
			list, err := a.rows(c, page.Jobs)
			if err != nil {
				return nil, err
			}
			for i := range list {
				rows = append(rows, list[i])
			}
			f.From = page.Next
			ended = page.Next.IsZero()
		}
		return rows, nil
	})
}

// exportGroups answers with all groups that a filter selects.
func (a *API) exportGroups(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f := q.groupFilter()
	if err := q.problem(); err != nil {
		return err
	}
	f.Limit = PageMax
	return a.exportRows(c, "causes", groupColumns, func(ctx context.Context) (rows []any, err error) {
		page, err := a.client.Groups(ctx, f)
		for i := range page.Groups {
			rows = append(rows, groupOf(&page.Groups[i]))
		}
		f.Skip += len(page.Groups)
		return rows, err
	})
}

// exportAudit answers with all actions that a filter selects.
func (a *API) exportAudit(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f := q.auditFilter()
	if err := q.problem(); err != nil {
		return err
	}
	f.Limit = PageMax
	ended := false
	return a.exportRows(c, "audit", auditColumns, func(ctx context.Context) (rows []any, err error) {
		for len(rows) == 0 && !ended {
			page, err := a.client.Audit(ctx, f)
			if err != nil {
				return nil, err
			}
			for i := range page.Entries {
				rows = append(rows, page.Entries[i])
			}
			f.Before, ended = page.Next, page.Next == 0
		}
		return rows, nil
	})
}
