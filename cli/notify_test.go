package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/notify"
)

// A process whose configuration has other rules than those in force says so at each look, and only then.
//
// part of: N2
func TestN2_OtherRulesInForceAreLogged(t *testing.T) {
	t.Parallel()
	own := &notify.Rules{Channels: map[string]notify.Channel{"hook": {Type: notify.Webhook}}}
	_, hash := own.Encode()
	var log bytes.Buffer
	w := &worker{settings: settings{Config: config.Default()}, log: slog.New(slog.NewTextHandler(&log, nil))}
	w.Notify.Rules = own
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	same := redrive.NotifyRules{Number: 1, Hash: hash}
	answers := []redrive.NotifyRules{same, {Number: 2, Hash: strings.Repeat("ab", 32), By: "tess"}, {}, same}
	looks := 0
	tick := make(chan time.Time)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.compareRules(ctx, func(context.Context) (redrive.NotifyRules, error) {
			looks++
			if looks == 3 {
				return redrive.NotifyRules{}, errors.New("the database is away")
			}
			return answers[looks-1], nil
		}, tick)
	}()
	for range answers { // when the last tick is taken, the lines about those before it are written
		tick <- time.Time{}
	}
	cancel()
	<-ended
	got := log.String()
	if n := strings.Count(got, "\n"); n != 2 || !strings.Contains(got, "number=2 hash=abababababab published_by=tess") || !strings.Contains(got, "the database is away") {
		t.Errorf("got %d lines:\n%s\nwant one about the rules 2, and one about the error", n, got)
	}
}
