//go:build linux

package torture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/redrive/redrive/internal/testing/httpproxy"
	"github.com/redrive/redrive/job"
)

// answerTime is how long a client waits for an answer before it asks another server.
const answerTime = time.Second

// The names of what clients count.
const (
	repeatedRequests = "request repeated"
	lostAnswers      = "answer lost"
	heardEvents      = "event heard"
	brokenStreams    = "stream ended"
	resets           = "reset of a listener"
)

// caller sends requests to the servers of a round, with faults on the way.
type caller struct {
	*round
	*web
	rand *rand.Rand
	http *http.Client
}

func (s *served) caller(r *round, place ...int) *caller {
	return &caller{round: r, web: s.web(r), rand: r.random(append(place, r.n)...),
		http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// over reports whether the faults have ended.
func (c *caller) over() bool { return waitOr(c.finished, 0) }

// request is one request. All its sends have the same headers and body.
type request struct {
	method, path, body string
	header             map[string]string
	once               bool // it cannot be repeated
}

// reply is the last answer to a request.
type reply struct {
	status int // 0 means that no answer came
	body   []byte
	header http.Header
	sends  int  // how often the client has sent it
	double bool // whether the proxy has sent it twice
}

// alone reports whether at most one server has got the request at most once.
func (a *reply) alone() bool { return a.sends == 1 && !a.double }

// unknown reports whether a status says that it is not known what has happened.
func unknown(status int) bool { return status == 0 || status == http.StatusGatewayTimeout }

// temporary reports whether a status asks for a repeat.
func temporary(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// send sends a request until an answer has come, each time to another server if there is one. It
// gives up when the round has been without faults for a long time.
func (c *caller) send(q *request) (a reply) {
	place := c.rand.IntN(len(c.proxies))
	for begun := time.Now(); ; place++ {
		fault := httpproxy.None
		if !c.over() && c.rand.IntN(3) == 0 {
			fault = httpproxy.Faults[c.rand.IntN(len(httpproxy.Faults))]
		}
		if q.once && fault == httpproxy.Double {
			fault = httpproxy.Delay
		}
		a.sends++
		a.double = a.double || fault == httpproxy.Double
		err := c.try(q, c.proxies[place%len(c.proxies)].URL(), fault, &a)
		if err == nil && (!temporary(a.status) || q.once) {
			return a
		}
		if err != nil {
			a.status = 0
			c.faulted(lostAnswers)
		}
		if q.once || c.Failed() {
			return a
		}
		if time.Since(begun) > patience {
			c.Errorf("round %d: %s %s got no answer within %s; the last one: %d %.300s %v", c.n, q.method, q.path, patience, a.status, a.body, err)
			return a
		}
		c.faulted(repeatedRequests)
		waitOr(c.heard, time.Duration(10+c.rand.IntN(90))*time.Millisecond)
	}
}

var errCut = errors.New("the answer was cut")

// try sends a request once.
func (c *caller) try(q *request, url string, fault httpproxy.Fault, a *reply) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	if c.over() {
		ctx = context.Background() // the servers answer, however busy the machine is
	}
	r, err := http.NewRequestWithContext(ctx, q.method, url+q.path, bytes.NewBufferString(q.body))
	if err != nil {
		return err
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	r.Header.Set(httpproxy.Header, string(fault))
	got, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return errors.Join(errCut, err)
	}
	a.status, a.body, a.header = got.StatusCode, body, got.Header
	if a.status == http.StatusInternalServerError {
		c.Errorf("round %d: %s %s was answered with %d %.500s", c.n, q.method, q.path, a.status, a.body)
	}
	return nil
}

// noteAnswer records the ids that an answer to a keyed request named.
func (c *caller) noteAnswer(name string, ids ...job.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.requests {
		if c.requests[i].Name == name {
			c.requests[i].Answers = append(c.requests[i].Answers, ids)
		}
	}
}
