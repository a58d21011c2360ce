package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/events"
)

// events answers with a stream or with a page.
func (a *API) events(c *Call) error {
	q := &queryReader{values: c.R.URL.Query()}
	var topics []events.Topic
	for _, text := range c.R.URL.Query()["topic"] {
		t, err := events.ParseTopic(text)
		if err != nil {
			q.add("topic", err.Error(), nil)
		}
		topics = append(topics, t)
	}
	if len(topics) > TopicsMax {
		return TooLarge.Mistaken(Mistake{Parameter: "topic", Detail: fmt.Sprintf("%d topics: at most %d are allowed; open several streams, or ask for a wider topic", len(topics), TopicsMax), Bound: TopicsMax})
	}
	if len(topics) == 0 {
		topics = []events.Topic{{Name: events.All}}
	}
	var after *event.Cursor
	text, given := q.text("after"), q.values.Has("after")
	if header := c.R.Header.Get("Last-Event-ID"); header != "" {
		text, given = header, true
	}
	if given {
		cursor, err := event.ParseCursor(text)
		if err != nil {
			q.add("after", err.Error(), nil)
		}
		after = &cursor
	}
	limit := int(q.number("limit", 1, PageMax, PageDefault))
	if err := q.problem(); err != nil {
		return err
	}
	o := events.Options{Topics: topics, Owner: c.Caller.Owner, After: after}
	switch accepts(c.R.Header.Get("Accept")) {
	case MediaEvents:
		return a.stream(c, o)
	case "application/json":
		return a.eventPage(c, o, limit)
	}
	return NotAcceptable.New("This path answers with %s or application/json, not with %.100q.", MediaEvents, c.R.Header.Get("Accept"))
}

// accepts returns the form of an answer for an Accept header, or "" if the answer has no accepted form.
func accepts(header string) string {
	if strings.TrimSpace(header) == "" {
		return "application/json"
	}
	for part := range strings.SplitSeq(header, ",") {
		switch media, _, _ := mime.ParseMediaType(part); media {
		case MediaEvents:
			return MediaEvents
		case "application/json", "application/*", "*/*":
			return "application/json"
		}
	}
	return ""
}

// eventPage answers with past events.
func (a *API) eventPage(c *Call, o events.Options, limit int) error {
	page := EventPage{Items: []EventOut{}, End: true}
	if o.After != nil {
		page.Next = *o.After
	}
	n := 0
	for e, err := range a.client.Events(c.Context(), page.Next, &redrive.EventsOptions{StopAtEnd: true}) {
		if err != nil {
			return err
		}
		if n++; n > EventsScanMax || len(page.Items) == limit {
			page.End = false
			break
		}
		page.Next = e.Cursor
		if o.Wants(&e) {
			page.Items = append(page.Items, EventOut{Event: e})
		}
	}
	if !c.Outside() {
		return c.JSON(http.StatusOK, page)
	}
	out := outsideEventPage{Items: []outsideEvent{}, OutsideEventPage: OutsideEventPage{Next: page.Next, End: page.End}}
	for i := range page.Items {
		if e, ok := a.outsideEvent(c.Context(), &page.Items[i].Event); ok {
			out.Items = append(out.Items, e)
		}
	}
	return c.JSON(http.StatusOK, out)
}

// stream sends events until the client goes, the server stops, or the caller may not listen any more.
func (a *API) stream(c *Call, o events.Options) error {
	leave, err := a.streams.enter(c.Caller.Actor)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	l, err := a.hub.Listen(ctx, o)
	if err != nil {
		if errors.Is(err, events.ErrClosed) {
			return Stopping.New("The server is stopping.").After(retryAfterStore)
		}
		return err
	}
	defer l.Close()
	s := &stream{API: a, call: c, control: http.NewResponseController(c.W)}
	h := c.W.Header()
	h.Set("Content-Type", MediaEvents)
	h.Set("X-Accel-Buffering", "no") // nginx passes frames on at once
	c.W.WriteHeader(http.StatusOK)
	// The time in milliseconds after which a browser connects again. It is random, so that the
	// listeners of a server that stops do not all connect again at the same moment.
	first := fmt.Sprintf("retry: %d\n", 1_000+rand.IntN(4_000))
	// A listener without a cursor gets one at once. Otherwise it would have none if the server were
	// killed before the first event, and would miss what happens until it listens elsewhere.
	if o.After == nil {
		first += "id: " + l.From().String() + "\n"
	}
	if err := s.write([]byte(first + "\n")); err != nil {
		return err
	}
	return s.run(ctx, l)
}

// stream is one answer of events.
type stream struct {
	*API
	call    *Call
	control *http.ResponseController
	frames  []byte // the frames that are written next
	items   []events.Item
	taken   int // the number of items that are in frames already
}

// frameGap is the least time between two writes to a listener, so that many events of a busy store
// become one write.
const frameGap = 10 * time.Millisecond

func (s *stream) run(ctx context.Context, l *events.Listener) error {
	heartbeat, rights, gap := time.NewTicker(s.o.Heartbeat), time.NewTicker(CheckRightsEvery), time.NewTimer(frameGap)
	defer heartbeat.Stop()
	defer rights.Stop()
	defer gap.Stop()
	for {
		frames, end := s.take(ctx, l)
		wake := l.Wake()
		if len(frames) > 0 {
			if err := s.write(frames); err != nil {
				return err
			}
			heartbeat.Reset(s.o.Heartbeat)
			gap.Reset(frameGap)
			if wake = nil; len(frames) >= FramesSize {
				wake = ready // take the next ones, but look at the other channels as well
			}
		}
		if end {
			return nil // the status line is sent already; the client connects again with its cursor
		}
		select {
		case <-s.stopping:
			return nil
		case <-ctx.Done():
			return ErrSent
		case <-rights.C: // the caller may have lost its rights since the last check
			if s.call.Again() != nil {
				return nil
			}
		case <-heartbeat.C:
			if cursor, all := l.Seen(); all && s.taken == len(s.items) {
				if err := s.write([]byte("id: " + cursor.String() + "\n\n")); err != nil {
					return err
				}
			}
		case <-gap.C:
		case <-wake:
		}
	}
}

// take returns the frames of the events that wait for the listener, up to a size of FramesSize, so that
// a busy stream writes many frames at once. It returns true if the listener has ended.
func (s *stream) take(ctx context.Context, l *events.Listener) (frames []byte, end bool) {
	s.frames = s.frames[:0]
	for len(s.frames) < FramesSize {
		if s.taken == len(s.items) {
			var err error
			s.taken = 0
			if s.items, err = l.Take(s.items[:0], events.TakeMax); err != nil || len(s.items) == 0 {
				return s.frames, err != nil
			}
		}
		s.frames = append(s.frames, s.frame(ctx, &s.items[s.taken])...)
		s.items[s.taken] = events.Item{}
		s.taken++
	}
	return s.frames, false
}

// ready is a closed channel: a receive from it never waits.
var ready = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// frame returns the frame of an event or of a reset; nil if the listener does not see the event.
func (s *stream) frame(ctx context.Context, item *events.Item) []byte {
	if item.Entry == nil {
		return frameOf(item.Reset, "reset", struct {
			Cursor event.Cursor `json:"cursor"`
		}{item.Reset})
	}
	outside := s.call.Outside()
	return item.Entry.Frame(outside, func(e *event.Event) []byte {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), FrameTime) // other listeners get the same frame
		defer cancel()
		if outside {
			o, ok := s.outsideEvent(ctx, e)
			if !ok {
				return nil
			}
			return frameOf(e.Cursor, o.Event, o)
		}
		return frameOf(e.Cursor, e.Type.String(), s.insideEvent(ctx, e))
	})
}

// frameOf returns a frame of a stream of events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
// JSON has no line breaks.
func frameOf(id event.Cursor, name string, data any) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: ", id, name)
	if err := wire.Encode(&b, data, ""); err != nil {
		return nil
	}
	text := bytes.TrimRight(b.Bytes(), "\n")
	return append(text, '\n', '\n')
}

func (s *stream) write(frame []byte) error {
	if len(frame) == 0 {
		return nil
	}
	_ = s.control.SetWriteDeadline(systemNow().Add(FrameTime)) // not every connection has deadlines
	_, err := s.call.W.Write(frame)
	if err == nil {
		err = s.control.Flush()
	}
	return s.call.sent(err)
}

// insideEvent returns an event as callers without an owner see it. If the job has failed or crashed, the
// event gets the message of the failure. More is set if the message was not read, because too many
// messages were read in this second.
func (a *API) insideEvent(ctx context.Context, e *event.Event) EventOut {
	out := EventOut{Event: *e}
	if e.Type == event.JobFailed || e.Type == event.JobCrashed {
		if !a.streams.mayRead(a.o.Now()) {
			out.More = true
		} else if failed, err := a.client.Latest(ctx, []job.ID{e.Job}); err == nil && len(failed) == 1 {
			out.Message = failed[0].Message
		}
	}
	return out
}

// streams counts the open streams of events, and the messages of failures that are read for them.
type streams struct {
	mu       sync.Mutex
	n        int
	byCaller map[string]int
	second   int64
	read     int
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func (s *streams) enter(actor string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n >= StreamsMax {
		return nil, RateLimited.New("The server has %d streams of events already.", StreamsMax).After(5)
	}
	if s.byCaller[actor] >= CallerStreamsMax {
		return nil, RateLimited.New("You have %d streams of events already; a stream can have %d topics.", CallerStreamsMax, TopicsMax).After(5)
	}
	if s.byCaller == nil {
		s.byCaller = make(map[string]int)
	}
	s.n++
	s.byCaller[actor]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.n--
		if s.byCaller[actor]--; s.byCaller[actor] == 0 {
			delete(s.byCaller, actor)
		}
	}, nil
}

// mayRead reports whether the text of one more failure may be read in this second.
func (s *streams) mayRead(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if second := now.Unix(); second != s.second {
		s.second, s.read = second, 0
	}
	s.read++
	return s.read <= MessagesMax
}
