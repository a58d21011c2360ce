package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/events"
	"github.com/redrive/redrive/store"
)

// The topics that a page can ask for.
const (
	campaignTopic = "campaign"
	tokenTopic    = "token"
	topicsMax     = 50
)

// heartbeat is how often a stream without events sends a comment, so that proxies keep it open.
const heartbeat = 15 * time.Second

// stream is one open page.
type stream struct {
	app     *app
	w       http.ResponseWriter
	c       *http.ResponseController
	whole   map[int64]*campaign  // followed campaigns by their batches
	single  map[job.ID]*campaign // followed tokens by their jobs
	touched chan string          // tokens that were changed by the example itself
}

// events streams what happens to the campaigns and tokens that the request names:
// /events?topic=campaign:ID&topic=token:ID. Only the caller's own ones are allowed.
func (s *site) events(w http.ResponseWriter, r *http.Request, p *account) error {
	topics := r.URL.Query()["topic"]
	if len(topics) == 0 || len(topics) > topicsMax {
		return refuse(http.StatusBadRequest, "Name 1 to %d topics, such as topic=campaign:ID or topic=token:ID.", topicsMax)
	}
	st := &stream{app: s.app, w: w, c: http.NewResponseController(w), whole: map[int64]*campaign{}, single: map[job.ID]*campaign{}, touched: make(chan string, 16)}
	var o events.Options
	err := s.app.read(r.Context(), func(tx *sql.Tx, _ store.Tx) error {
		for _, text := range topics {
			topic, err := st.follow(r.Context(), tx, p, text)
			if err != nil {
				return err
			}
			o.Topics = append(o.Topics, topic)
		}
		return nil
	})
	if err != nil {
		return err
	}
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.URL.Query().Get("after")
	}
	if after != "" {
		cursor, err := event.ParseCursor(after)
		if err != nil {
			return refuse(http.StatusBadRequest, "%v", err)
		}
		o.After = &cursor
	}
	l, err := s.hub.Listen(r.Context(), o)
	if err != nil {
		return err
	}
	defer l.Close()
	defer s.local.follow(st)()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if err := st.c.Flush(); err != nil {
		return nil //nolint:nilerr // the caller has gone
	}
	st.run(r.Context(), s.stop, l)
	return nil
}

// follow adds a topic and returns that of redrive.
func (st *stream) follow(ctx context.Context, tx *sql.Tx, p *account, text string) (events.Topic, error) {
	name, id, _ := strings.Cut(text, ":")
	switch name {
	case campaignTopic:
		c, err := ownCampaign(ctx, tx, p, id)
		if err != nil {
			return events.Topic{}, err
		}
		st.whole[c.Batch] = &c
		return events.Topic{Name: events.Batch, Value: strconv.FormatInt(c.Batch, 10)}, nil
	case tokenTopic:
		var c campaign
		var own job.ID
		err := tx.QueryRowContext(ctx, `SELECT `+prefixed("c.", campaignColumns)+`, t.job FROM tokens t JOIN campaigns c ON c.id = t.campaign WHERE t.id = ? AND c.account = ?`, id, p.ID).
			Scan(append(c.fields(), &own)...)
		if err != nil {
			return events.Topic{}, known(err)
		}
		st.single[own] = &c
		return events.Topic{Name: events.Job, Value: own.String()}, nil
	}
	return events.Topic{}, refuse(http.StatusBadRequest, "Topic %.60q: must be campaign:ID or token:ID.", text)
}

// run writes frames until the page is closed.
func (st *stream) run(ctx context.Context, stop <-chan struct{}, l *events.Listener) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		items, err := l.Take(nil, events.TakeMax)
		if err != nil {
			return
		}
		if len(items) > 0 {
			if st.write(ctx, items) != nil {
				return
			}
			continue
		}
		select {
		case <-l.Wake():
		case token := <-st.touched:
			err = st.frames(ctx, &bunch{tokens: map[string]bool{token: true}})
		case <-beat.C:
			_, err = fmt.Fprint(st.w, ": alive\n\n")
		case <-ctx.Done():
			return
		case <-stop:
			return
		}
		if err != nil || st.c.Flush() != nil {
			return
		}
	}
}

// bunch is what several events together change on a page.
type bunch struct {
	jobs    map[job.ID]bool
	tokens  map[string]bool // by the ids of tokens, not of jobs
	batches map[int64]bool
	dead    []*event.Event
	last    event.Cursor
}

// write sends what some events have changed. The last frame has the cursor of the last event.
func (st *stream) write(ctx context.Context, items []events.Item) error {
	b := bunch{jobs: map[job.ID]bool{}, batches: map[int64]bool{}}
	for i := range items {
		if items[i].Entry == nil { // events were missed: the page reads everything again
			if _, err := fmt.Fprintf(st.w, "event: reset\nid: %s\ndata: {}\n\n", items[i].Reset); err != nil {
				return err
			}
			continue
		}
		e := &items[i].Entry.Event
		b.last = e.Cursor
		if e.Job != 0 {
			b.jobs[e.Job] = true
		}
		if e.To == job.Dead {
			b.dead = append(b.dead, e)
		}
		if st.whole[e.Batch] != nil && (e.Type == event.BatchChanged || e.To.Terminal() || e.From.Terminal()) {
			b.batches[e.Batch] = true
		}
	}
	if err := st.frames(ctx, &b); err != nil {
		return err
	}
	return st.c.Flush()
}

// frames writes the frames of a bunch: tokens first, then the failures, then the campaigns.
func (st *stream) frames(ctx context.Context, b *bunch) error {
	var out []frame
	err := st.app.read(ctx, func(tx *sql.Tx, own store.Tx) (err error) {
		out, err = st.read(ctx, tx, own, b)
		return err
	})
	if err != nil {
		return err
	}
	for i := range out {
		id := ""
		if i == len(out)-1 && b.last != (event.Cursor{}) {
			id = "id: " + b.last.String() + "\n"
		}
		data, err := json.Marshal(out[i].data) // one line, whatever the texts hold
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(st.w, "event: %s\n%sdata: %s\n\n", out[i].name, id, data); err != nil {
			return err
		}
	}
	return nil
}

type frame struct {
	name string
	data any
}

// tokenFailed is the data of the event token_failed.
type tokenFailed struct {
	Token string `json:"token_id"`
	Error string `json:"error"`
}

// campaignChanged is the data of the event campaign.
type campaignChanged struct {
	ID        string         `json:"campaign_id"`
	State     job.BatchState `json:"state"`
	Total     int64          `json:"total"`
	Completed int64          `json:"completed"`
	Dead      int64          `json:"dead"`
}

func (st *stream) read(ctx context.Context, tx *sql.Tx, own store.Tx, b *bunch) (out []frame, err error) {
	names := make(map[job.ID]string)
	show := func(where string, arg any) error {
		rows, err := tokenRows(ctx, tx, where, arg)
		if err != nil {
			return err
		}
		if len(rows) == 0 { // a job of another kind
			out = append(out, frame{"detection", struct{}{}})
			return nil
		}
		row := &rows[0]
		var c campaign
		if err := tx.QueryRowContext(ctx, `SELECT `+prefixed("c.", campaignColumns)+` FROM tokens t JOIN campaigns c ON c.id = t.campaign WHERE t.id = ?`, row.id).Scan(c.fields()...); err != nil {
			return err
		}
		batch, err := st.app.client.BatchHandle(c.Batch).GetTx(ctx, own)
		if err != nil {
			return err
		}
		j, err := st.app.jobOf(ctx, own, row.job)
		if err != nil {
			return err
		}
		names[row.job] = row.id
		out = append(out, frame{"token", st.app.view(&c, &batch, row, j)})
		return nil
	}
	for id := range b.jobs {
		if err := show(`t.job = ?`, id); err != nil {
			return nil, err
		}
	}
	for id := range b.tokens {
		if err := show(`t.id = ?`, id); err != nil {
			return nil, err
		}
	}
	for _, e := range b.dead {
		if names[e.Job] == "" {
			continue
		}
		text, err := st.app.failureOf(ctx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, frame{"token_failed", tokenFailed{names[e.Job], text}})
	}
	for id := range b.batches {
		batch, err := st.app.client.BatchHandle(id).GetTx(ctx, own)
		if err != nil {
			return nil, err
		}
		out = append(out, frame{"campaign", campaignChanged{st.whole[id].ID, batch.State, batch.Total, batch.Completed, batch.Dead}})
	}
	return out, nil
}

// failureOf returns the text for users of the run that an event is about.
func (a *app) failureOf(ctx context.Context, e *event.Event) (string, error) {
	failures, err := a.client.Failures(ctx, e.Job)
	if err != nil {
		return "", err
	}
	for i := range failures {
		if failures[i].Token == e.Token {
			return failures[i].UserMessage, nil
		}
	}
	return "", nil
}

// local passes on what the example changes without redrive: downloads.
type local struct {
	mu      sync.Mutex
	streams map[*stream]bool
}

func (l *local) follow(st *stream) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams == nil {
		l.streams = make(map[*stream]bool)
	}
	l.streams[st] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.streams, st)
	}
}

// touch says that the row of a token has changed.
func (l *local) touch(batch int64, own job.ID, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for st := range l.streams {
		if st.whole[batch] == nil && st.single[own] == nil {
			continue
		}
		select {
		case st.touched <- token:
		default: // the page is slow; it shows the row when it is loaded again
		}
	}
}
