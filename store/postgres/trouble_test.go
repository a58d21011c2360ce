package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(p))
	return len(p), nil
}

// with returns the lines that have all of some words.
func (l *lines) with(words ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			found = append(found, line)
		}
	}
	return found
}

// What the store does in the background has nobody whom an error could be returned
// to: the log says that it fails, and that it has recovered.
//
// part of: Q10
func TestQ10_TheLogTellsOfTheBackground(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	log := &lines{}
	s := opened(t, server.DSN(), &Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	server.Stop(servers.Fast)
	s.news.tell(claims.AnyChange)
	matters := []string{"the counters are not folded", "other processes get no notifications", "notifications of other processes do not arrive"}
	for _, what := range matters {
		eventually(t, "a warning that "+what, func() bool { return len(log.with("WARN", what)) > 0 })
	}
	server.Start()
	for _, what := range matters {
		eventually(t, "the word that it is over that "+what, func() bool { return len(log.with("INFO", what)) > 0 })
	}
}

// The same trouble is reported once, however often it comes back.
func TestTroubleIsReportedOnce(t *testing.T) {
	t.Parallel()
	log := &lines{}
	s := &Store{options: Options{Logger: slog.New(slog.NewTextHandler(log, nil))}, where: "here", closed: make(chan struct{})}
	tr := trouble{s: s, what: "it does not work"}
	lost := func(port int) error {
		return fmt.Errorf("read: %w", &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: port}, Err: errors.New("reset by peer")})
	}
	for _, err := range []error{nil, lost(1), lost(2), lost(3), errors.New("refused"), errors.New("refused"), nil, nil, lost(4)} {
		tr.see(err)
	}
	close(s.closed)
	tr.see(errors.New("of the end"))
	var got []string
	for _, line := range log.all {
		for _, word := range []string{"WARN", "INFO"} {
			if strings.Contains(line, word) {
				got = append(got, word)
			}
		}
	}
	if want := []string{"WARN", "INFO", "WARN"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v:\n%s", got, want, strings.Join(log.all, ""))
	}
}
