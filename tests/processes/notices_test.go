//go:build linux

package processes

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/place"
)

var noticeDeaths = flag.Int("notices.deaths", 500, "jobs that die in 8 processes, in TestN2_Trap18")

// Jobs die of one cause in 8 processes, of which two are killed: people get one message, and all other deaths wait for
// the digest of the window.
//
// part of: N2, N6
func TestN2_Trap18_ManyDeathsAreOneMessageAndOneDigest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test starts processes")
	}
	for name, where := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "jobs.db") },
		"PostgreSQL": func(t *testing.T) string { dsn, schema := pgtest.Schema(t); return dsn + "#" + schema },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manyDeaths(t, where(t))
		})
	}
}

func manyDeaths(t *testing.T, where string) {
	p, err := place.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	rules := notify.Rules{Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}},
		Rules: []notify.Rule{{On: []notify.Event{notify.JobDead}, Channel: "mail", To: []string{"ops@example.com"}, Team: true}}}
	body, _ := rules.Encode()
	if _, err := p.PublishNotify(t.Context(), person, body); err != nil {
		t.Fatal(err)
	}
	first, err := p.ReserveIDs(t.Context(), *noticeDeaths)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]job.New, *noticeDeaths)
	for i := range all {
		all[i] = job.New{ID: first + job.ID(i), Kind: "member", Queue: "default", Priority: job.PriorityDefault, Payload: []byte(`"dead"`)}
	}
	for some := range slices.Chunk(all, 500) {
		if _, err := p.Enqueue(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
	enders := startEnders(t, where, 8)
	killed := make(map[string]bool)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		d, err := p.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for i := range d.Jobs {
			if j := &d.Jobs[i]; j.Kind == "member" && (j.State == job.Waiting || j.State == job.Running && !killed[j.Holder]) {
				open++
			}
		}
		if len(killed) == 0 && len(d.Dead) > *noticeDeaths/5 {
			for _, e := range enders[:2] {
				killed[fmt.Sprint(e.Process.Pid)] = true
				_ = e.Process.Kill()
			}
		}
		if open == 0 && len(killed) > 0 {
			checkNotices(t, d)
			return
		}
		<-tick.C
	}
}

// checkNotices checks that there is one message, and that its window has all other deaths.
func checkNotices(t *testing.T, d *store.Dump) {
	t.Helper()
	messages := 0
	for i := range d.Jobs {
		if d.Jobs[i].Kind == notify.KindMail {
			messages++
		}
	}
	var w notify.Window
	if len(d.Windows) == 1 {
		window, _, _ := strings.Cut(d.Windows[0], "\n")
		if err := json.Unmarshal([]byte(window[strings.Index(window, "{"):]), &w); err != nil {
			t.Fatal(err)
		}
	}
	if messages != 1 || w.N != int64(len(d.Dead)-1) || len(d.Dead) < *noticeDeaths-16 {
		t.Errorf("%d jobs died: %d messages, and %d deaths in %d windows, want 1 message and all others in one window", len(d.Dead), messages, w.N, len(d.Windows))
	}
	t.Logf("%d jobs died, %d messages, %d deaths wait for a digest", len(d.Dead), messages, w.N)
}
