package page

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
)

// The headers of the script that keeps a page up to date.
const (
	// liveHeader has the notice that made the script read the page again, or "-". When the script asks again because
	// numbers of the last answer were old, it adds a full stop.
	liveHeader = "Redrive-Live"
	// rowsHeader has the ids of the rows that the page shows.
	rowsHeader = "Redrive-Rows"
)

const (
	// renderKept is how long a page that was read because of a notice is given to others that have
	// got the same notice.
	renderKept = 2 * time.Second
	rendersMax = 256
	rowsMax    = 100
)

// renders keeps pages for a moment: all that watch a page get the same notice at the same time, and
// the page is read once for them.
type renders struct {
	mu sync.Mutex
	by map[string]*render
}

// render is a page that was read. It is also the http.ResponseWriter to which it is written.
type render struct {
	mu     sync.Mutex
	begun  time.Time
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *render) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *render) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *render) Write(b []byte) (int, error) { return r.body.Write(b) }

// of returns the render of a key, or a new one.
func (k *renders) of(key string, now time.Time) *render {
	k.mu.Lock()
	defer k.mu.Unlock()
	old := func(_ string, r *render) bool { return now.Sub(r.begun) > renderKept }
	if len(k.by) >= rendersMax {
		maps.DeleteFunc(k.by, old)
	}
	if r := k.by[key]; r != nil && !old(key, r) {
		return r
	}
	r := &render{begun: now}
	if k.by == nil {
		k.by = make(map[string]*render)
	}
	k.by[key] = r
	return r
}

// shared makes a handler answer all requests because of one notice with one page. Pages of this kind
// have nothing that is for one reader only: see frame.
func (p *Pages) shared(handle func(*api.API, *api.Call) error) func(*api.API, *api.Call) error {
	return func(a *api.API, c *api.Call) error {
		notice := c.R.Header.Get(liveHeader)
		if notice == "" || notice[0] == '-' {
			return handle(a, c)
		}
		parts := []string{notice, c.R.Header.Get(rowsHeader), c.R.URL.RequestURI(), strconv.Itoa(int(c.Caller.Roles))}
		for _, cookie := range c.R.Cookies() { // such as the time zone
			if cookie.Name != doneCookie && !strings.Contains(cookie.Name, "login") {
				parts = append(parts, cookie.Name, cookie.Value)
			}
		}
		r := p.renders.of(strings.Join(parts, "\x00"), a.Options().Now())
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status == 0 {
			inner := *c
			r.header, inner.W = make(http.Header), r
			if err := handle(a, &inner); err != nil {
				r.status = 0
				r.body.Reset()
				return err
			}
		}
		maps.Copy(c.W.Header(), r.header)
		return c.Bytes(r.status, r.header.Get("Content-Type"), r.body.Bytes())
	}
}

// stream answers with the notices of a page that is open.
func (p *Pages) stream(a *api.API, c *api.Call) error { return a.Live(c) }

// withShown adds the jobs whose rows an open page shows: they are shown as they are now, also when
// newer jobs have taken their places, or when they do not match the filter any more.
func (p *Pages) withShown(a *api.API, c *api.Call, rows []wire.JobRow) ([]wire.JobRow, error) {
	var ids []job.ID
	for text := range strings.FieldsSeq(c.R.Header.Get(rowsHeader)) {
		id, err := job.ParseID(strings.TrimPrefix(text, "job."))
		if err == nil && len(ids) < rowsMax && !slices.ContainsFunc(rows, func(r wire.JobRow) bool { return r.ID == id }) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return rows, nil
	}
	more, err := a.JobRows(c, ids)
	return append(rows, more...), err
}
