//go:build linux

package torture

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/store/postgres"
)

var promotionsFlag = flag.Int("torture.promotions", 2, "number of primaries to kill and standbys to promote")

// Workers and clients live through the kill of the primary and the promotion of its standby. Commits
// wait for the standby, so nothing that was acknowledged is lost.
//
// proves: Q3, Q4, I1
func TestQ3_Q4_I1_TortureOfPromotedStandbysOnPostgres(t *testing.T) {
	t.Parallel()
	needsPostgres(t)
	tt := newTorture(t)
	s := &pair{}
	tt.program = newLibrary(tt, s)
	r := tt.newRound()
	s.begin(r)
	r.watch()
	for n := range *promotionsFlag {
		if !tt.Failed() {
			s.promotion(r, n)
		}
	}
	r.settle()
	tt.Log(tt.summary.text())
	if !tt.Failed() {
		if err := os.RemoveAll(tt.dir); err != nil {
			tt.Error(err)
		}
	}
}

// pair is the site of a primary with a standby. Its programs know the addresses of both, and connect
// to the one that accepts writes.
type pair struct {
	primary, standby *servers.Postgres
}

func (p *pair) begin(r *round) {
	var err error
	if p.primary, err = servers.StartPostgres(r.Context(), pgtest.Options()); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { // a failed round may have left servers
		_ = p.primary.Close() // no error check: the end of the round has closed it, or the test has failed
		if p.standby != nil {
			_ = p.standby.Close() // no error check: as above
		}
	})
}

// follow gives the primary a standby for which commits wait.
func (p *pair) follow(r *round) {
	var err error
	if p.standby, err = p.primary.Standby(r.Context(), "standby"); err != nil {
		r.Fatal(err)
	}
	u := p.primary.URL()
	u.Host = ""
	q := u.Query()
	q.Set("host", "127.0.0.1,127.0.0.1")
	q.Set("port", fmt.Sprintf("%d,%d", p.primary.Port(), p.standby.Port()))
	q.Set("target_session_attrs", "read-write")
	u.RawQuery, u.Fragment = q.Encode(), schema
	r.database, r.direct = u.String(), u.String()

	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.primary.DSN())
	if err != nil {
		r.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, text := range []string{`ALTER SYSTEM SET synchronous_standby_names = 'standby'`, `SELECT pg_reload_conf()`} {
		if _, err := conn.Exec(ctx, text); err != nil {
			r.Fatal(err)
		}
	}
	for synchronous := 0; synchronous == 0; waitOr(ctx.Done(), 10*time.Millisecond) {
		if err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&synchronous); err != nil {
			r.Fatalf("wait for the standby: %v", err)
		}
	}
}

// ackedPerPromotion is the number of jobs that must be acknowledged before a kill of the primary, and
// again after the promotion.
const ackedPerPromotion = 60

// promotion kills the primary and promotes its standby while two workers and a client are at work.
// Every second time a worker is killed together with the primary.
func (p *pair) promotion(r *round, n int) {
	p.follow(r)
	begun := r.started.Load()
	workers := []*process{r.workers(n, 0).start(""), r.workers(n, 1).start("")}
	c := r.start(client, "", func(name string) (*exec.Cmd, error) {
		return r.program.client(r, name, intake{seed: r.seed + uint64(n)})
	})
	ends := make(chan struct{})
	var people sync.WaitGroup
	people.Go(func() { r.operate(n, ends) })
	r.awaitAcked(begun, ackedPerPromotion)
	over := r.troubled("primary killed")
	if err := p.primary.Kill(); err != nil {
		r.Fatal(err)
	}
	r.faulted("primary killed")
	if n%2 == 1 {
		workers[0].kill()
	}
	if err := p.standby.Promote(); err != nil {
		r.Fatal(err)
	}
	r.faulted("standby promoted")
	r.awaitAcked(begun, r.acked(begun)+ackedPerPromotion)
	over()
	close(ends)
	people.Wait()
	workers[0].kill()
	for _, w := range []*process{workers[1], c} {
		w.stop()
	}
	if err := p.primary.Close(); err != nil {
		r.Error(err)
	}
	p.primary, p.standby = p.standby, nil
}

// awaitAcked waits until a number of enqueues were acknowledged to the clients that started since then.
func (r *round) awaitAcked(since int64, n int) {
	for begun := time.Now(); r.acked(since) < n; waitOr(nil, 10*time.Millisecond) {
		if time.Since(begun) > patience {
			r.Fatalf("%d enqueues were acknowledged within %s, want %d", r.acked(since), patience, n)
		}
	}
}

func (p *pair) again(*round) error { return nil }

func (p *pair) meanwhile(*round, int, <-chan struct{}) {}

func (p *pair) integrity(ctx context.Context, r *round) []string {
	report, err := postgres.Diagnose(ctx, p.primary.DSN(), schema, time.Now)
	if err != nil {
		return []string{err.Error()}
	}
	return report.Problems
}

func (p *pair) end(r *round) {
	if r.Failed() {
		r.Logf("the last lines of the server's log:\n%s", p.primary.Log())
	}
	if err := p.primary.Close(); err != nil {
		r.Error(err)
	}
}

func (*pair) comesTo(crashpoint.Point) bool { return false }

func (*pair) workerFaults() []fault { return nil }

func (*pair) wanted() []string { return nil }
