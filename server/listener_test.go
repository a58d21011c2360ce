package server_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"

	"github.com/redrive/redrive/internal/api"
)

// frame is a frame of a stream of events.
type frame struct{ id, name, data string }

// heard is an event as a client reads it.
type heard struct {
	ID, Job                string
	Event, Status, Message string
}

type heardPage struct {
	Items []heard
	Next  string
	End   bool
}

// listener reads a stream.
type listener struct {
	*site
	header http.Header
	frames chan frame // closed at the end of the stream
	stop   context.CancelFunc
	from   string // the id that a listener without one gets at once
}

// listen opens a stream. It returns when the server has answered.
func (s *site) listen(query string, headers ...string) *listener {
	s.Helper()
	l := s.stream(query, headers...)
	if l.header.Get("Cache-Control") != "no-store" || l.header.Get("X-Accel-Buffering") != "no" || l.header.Get("Content-Encoding") != "" {
		s.Fatalf("got the header %v, want a stream that nobody keeps or packs", l.header)
	}
	return l
}

// stream opens a stream, perhaps through a proxy that changes headers.
func (s *site) stream(query string, headers ...string) *listener {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/events"+query, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	got, err := http.DefaultClient.Do(r) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		s.Fatal(err)
	}
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != api.MediaEvents {
		s.Fatalf("got %d with the header %v, want a stream of events", got.StatusCode, got.Header)
	}
	l := &listener{site: s, header: got.Header, frames: make(chan frame, 10_000), stop: cancel}
	go func() {
		defer close(l.frames)
		defer got.Body.Close()
		var f frame
		for in := bufio.NewScanner(got.Body); in.Scan(); {
			name, value, _ := strings.Cut(in.Text(), ": ")
			switch name {
			case "id":
				f.id = value
			case "event":
				f.name = value
			case "data":
				f.data = value
			case "":
				if f.id != "" {
					l.frames <- f
				}
				f = frame{}
			}
		}
	}()
	if r.Header.Get("Last-Event-ID") == "" && !strings.Contains(query, "after=") {
		first := l.next()
		if l.from = first.id; first.name != "" || first.data != "" {
			s.Fatalf("got the first frame %+v, want one with an id only", first)
		}
	}
	return l
}

// next returns the next frame.
func (l *listener) next() frame {
	l.Helper()
	f, ok := <-l.frames
	if !ok {
		l.Fatal("the stream has ended, want a frame")
	}
	return f
}

// names returns the names of the next frames up to one with this name.
func (l *listener) names(last string) (names []string) {
	l.Helper()
	for {
		f := l.next()
		if names = append(names, f.name); f.name == last {
			return names
		}
	}
}
