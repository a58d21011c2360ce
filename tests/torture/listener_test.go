//go:build linux

package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/events"
	"github.com/redrive/redrive/tests/torture/place"
	"github.com/redrive/redrive/tests/torture/plan"
)

// topics are what the listeners of a round follow, one each.
var topics = []string{"all", "kind:" + plan.Work, "dead", "queue:default"}

// quietTime is how long a listener waits for bytes before it listens to another server.
const quietTime = 2 * time.Second

// listener follows a topic over any server, and comes back with the id of its last frame.
type listener struct {
	*caller
	topic string

	mu     sync.Mutex
	last   string // the Last-Event-ID
	record check.Listener
}

func (s *served) listener(r *round, n int, topic string) *listener {
	l := newListener(s.caller(r, n, 9), topic)
	l.web.mu.Lock()
	defer l.web.mu.Unlock()
	l.listeners = append(l.listeners, l)
	return l
}

func newListener(c *caller, topic string) *listener {
	l := &listener{caller: c, topic: topic, record: check.Listener{Name: topic}}
	t, err := events.ParseTopic(topic)
	if err != nil {
		c.Fatal(err)
	}
	o := events.Options{Topics: []events.Topic{t}}
	l.record.Wants = o.Wants
	return l
}

// follow listens until the round ends.
func (l *listener) follow() {
	for at := l.rand.IntN(len(l.proxies)); !waitOr(l.heard, 20*time.Millisecond); at++ {
		if err := l.listen(l.proxies[at%len(l.proxies)].URL()); err != nil && !errors.Is(err, io.EOF) {
			l.faulted(brokenStreams)
		}
	}
}

// listen reads one stream to its end.
func (l *listener) listen(url string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	quiet := time.AfterFunc(quietTime, cancel)
	defer quiet.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/events?topic="+l.topic, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	if last := l.position(); last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	got, err := l.http.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", got.Status)
	}
	var f frame
	for in := bufio.NewReader(got.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return err // the rest of a frame without its end is dropped
		}
		quiet.Reset(quietTime)
		if done, err := f.add(strings.TrimSuffix(line, "\n")); err != nil {
			l.Errorf("round %d: listener %s: %v", l.n, l.topic, err)
		} else if done {
			l.hear(&f)
			f = frame{}
		}
	}
}

// frame is one frame of a stream.
type frame struct{ id, name, data string }

// add adds a line and reports whether the frame is complete.
func (f *frame) add(line string) (done bool, err error) {
	name, value, _ := strings.Cut(line, ": ")
	switch name {
	case "":
		return true, nil
	case "id":
		f.id = value
	case "event":
		f.name = value
	case "data":
		f.data = value
	case "retry":
	default:
		return false, fmt.Errorf("a stream has the line %.200q", line)
	}
	return false, nil
}

// hear records a frame.
func (l *listener) hear(f *frame) {
	if f.id == "" {
		return
	}
	cursor, err := event.ParseCursor(f.id)
	h := check.Heard{Cursor: cursor, Type: f.name}
	switch f.name {
	case "":
	case "reset":
		h.Type, h.Reset = "", true
		l.faulted(resets)
	default:
		var data struct{ Job job.ID }
		err = errors.Join(err, json.Unmarshal([]byte(f.data), &data))
		h.Job = data.Job
		l.faulted(heardEvents)
	}
	if err != nil {
		l.Errorf("round %d: listener %s: the frame %+v cannot be read: %v", l.n, l.topic, f, err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" {
		l.record.After = cursor
	} else {
		l.record.Heard = append(l.record.Heard, h)
	}
	l.last = f.id
}

func (l *listener) position() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// catchUp waits until all listeners of a round have heard the newest event.
func (s *served) catchUp(r *round, w *web) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	st, err := place.Open(ctx, r.direct)
	if err != nil {
		r.Error(err)
		return
	}
	defer r.close(st)
	dump, err := st.Dump(ctx)
	if err != nil {
		r.Error(err)
		return
	}
	w.mu.Lock()
	all := w.listeners
	w.mu.Unlock()
	for _, l := range all {
		l.awaits(ctx, dump.Events)
	}
}

// awaits waits until the listener has heard the last event of its topic. If it does not, the checker
// finds what it has missed.
func (l *listener) awaits(ctx context.Context, log []event.Event) {
	if len(log) == 0 {
		return
	}
	l.mu.Lock()
	l.record.Until = log[len(log)-1].Cursor
	l.mu.Unlock()
	var last event.Cursor
	for i := range log {
		if l.record.Wants(&log[i]) {
			last = log[i].Cursor
		}
	}
	for !waitOr(ctx.Done(), 5*time.Millisecond) && !l.Failed() {
		if at, err := event.ParseCursor(l.position()); err == nil && !at.Before(last) {
			return
		}
	}
}
