package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/server/events"
)

// Live answers with a stream of notices for a page that is open: each says that something of the
// topics has changed since, and the page is read again. The parameter after, or the header
// Last-Event-ID, is the cursor of the page or of the last notice: if something has changed since
// then, the first notice follows at once, so nothing is lost when a page connects again.
func (a *API) Live(c *Call) error {
	var topics []events.Topic
	for _, text := range c.R.URL.Query()["topic"] {
		t, err := events.ParseTopic(text)
		if err != nil {
			return InvalidField.Mistaken(Mistake{Parameter: "topic", Detail: err.Error()})
		}
		topics = append(topics, t)
	}
	if n := len(topics); n == 0 || n > LiveTopicsMax {
		return InvalidField.Mistaken(Mistake{Parameter: "topic", Detail: fmt.Sprintf("%d topics: give at least 1 and at most %d", n, LiveTopicsMax), Bound: LiveTopicsMax})
	}
	text := c.R.URL.Query().Get("after")
	if header := c.R.Header.Get("Last-Event-ID"); header != "" {
		text = header
	}
	after, err := event.ParseCursor(text)
	if err != nil {
		return InvalidField.Mistaken(Mistake{Parameter: "after", Detail: err.Error()})
	}
	leave, err := a.streams.enter(c.Caller.Actor)
	if err != nil {
		return err
	}
	defer leave()
	w, err := a.watches.Watch(c.Context(), topics)
	if err != nil {
		if errors.Is(err, events.ErrClosed) {
			return Stopping.New("The server is stopping.").After(retryAfterStore)
		}
		return err
	}
	defer w.Close()
	h := c.W.Header()
	h.Set("Content-Type", MediaEvents)
	h.Set("X-Accel-Buffering", "no") // nginx passes frames on at once
	c.W.WriteHeader(http.StatusOK)
	s := &stream{API: a, call: c, control: http.NewResponseController(c.W)}
	return s.notices(w, after)
}

// notices sends notices until the client goes, the server stops or the caller may not listen any more.
func (s *stream) notices(w *events.Watch, after event.Cursor) error {
	heartbeat, rights := time.NewTicker(s.o.Heartbeat), time.NewTicker(CheckRightsEvery)
	defer heartbeat.Stop()
	defer rights.Stop()
	// A page asks again by itself when its stream ends; the browser must not do so as well.
	if err := s.write([]byte("retry: 60000\nevent: beat\ndata: 1\n\n")); err != nil {
		return err
	}
	sent := events.Notice{Cursor: after}
	for first := true; ; first = false {
		notice, next, err := w.Last()
		if err != nil {
			return nil // the header is out; the page connects again with its cursor
		}
		if notice != sent && (!first || after.Before(notice.Cursor)) {
			if err := s.write(fmt.Appendf(nil, "id: %s\ndata: %t\n\n", notice.Cursor, notice.Settled)); err != nil {
				return err
			}
			heartbeat.Reset(s.o.Heartbeat)
		}
		sent = notice
		select {
		case <-s.stopping:
			return nil
		case <-s.call.Context().Done():
			return ErrSent
		case <-rights.C:
			if s.call.Again() != nil {
				return nil
			}
		case <-heartbeat.C:
			if err := s.write([]byte("event: beat\ndata: 1\n\n")); err != nil {
				return err
			}
		case <-next:
		}
	}
}
