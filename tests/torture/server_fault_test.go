//go:build linux

package torture

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgproxy"
	"github.com/redrive/redrive/internal/testing/servers"
)

const fullDiskFault = "full disk of the server"

// faults are what happens to the server of a round and to the network before it.
func (s *postgresSite) faults() []fault {
	return []fault{
		s.restart("server restarted", servers.Fast), s.restart("server crashed", servers.Immediate),
		s.terminate("backend ended", `LIMIT 1`), s.terminate("backend ended", `LIMIT 1`), s.terminate("all backends ended", ``),
		s.cut("cut before COMMIT", pgproxy.BeforeMessage), s.cut("cut before COMMIT", pgproxy.BeforeMessage),
		s.cut("cut in COMMIT", pgproxy.AfterMessage), s.cut("cut in COMMIT", pgproxy.AfterMessage),
		s.cut("cut after COMMIT", pgproxy.BeforeReply), s.cut("cut after COMMIT", pgproxy.BeforeReply),
		s.cut("cut in the reply to COMMIT", pgproxy.InReply),
		s.cutAnywhere(), s.breakDown(), s.stall(), s.fillDisk(), s.exhaust(),
		s.session("writer that does not end", `SELECT pg_current_xact_id()`),
		s.session("table locked", `LOCK TABLE `+schema+`.redrive_jobs IN ACCESS EXCLUSIVE MODE`),
		s.session("jobs locked", `SELECT count(*) FROM (SELECT 1 FROM `+schema+`.redrive_jobs ORDER BY id LIMIT 20 FOR UPDATE) x`),
	}
}

// trouble makes a fault of something that goes on for a while.
func (s *postgresSite) trouble(name string, do func(p *slot, srv *server) bool) fault {
	return fault{name, func(p *slot) bool {
		p.shortages.Add(1)
		defer p.shortages.Add(1)
		happened := do(p, s.of(p.round))
		if happened {
			p.faulted(name)
		}
		return happened
	}}
}

// must notes what a fault could not do: it would prove less than it says.
func (s *slot) must(err error) bool {
	if err != nil {
		s.Errorf("round %d: %v", s.n, err)
	}
	return err == nil
}

// restart stops the server and starts it again, sometimes after a while.
func (s *postgresSite) restart(name string, mode servers.Mode) fault {
	return s.trouble(name, func(p *slot, srv *server) bool {
		if !p.must(srv.Stop(mode)) {
			return false
		}
		waitOr(p.over, p.within(p.program.lease()))
		return p.must(srv.Start(context.Background()))
	})
}

// terminate ends connections of redrive's, as an administrator does.
func (s *postgresSite) terminate(name, which string) fault {
	return s.trouble(name, func(p *slot, srv *server) bool {
		return p.must(srv.exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM (
			SELECT pid FROM pg_stat_activity WHERE application_name IN ('redrive', 'application') ORDER BY random() `+which+`) x`))
	})
}

// cut cuts the connection on which the next COMMIT comes.
func (s *postgresSite) cut(name string, at pgproxy.Point) fault {
	return s.trouble(name, func(p *slot, srv *server) bool { return p.awaits(srv.proxy, srv.proxy.Cut(at, pgproxy.Commit)) })
}

// awaits waits for a cut, and takes back one that is not made in time.
func (s *slot) awaits(proxy *pgproxy.Proxy, c *pgproxy.Cut) bool {
	timer := time.NewTimer(2 * time.Second)
	defer timer.Stop()
	select {
	case <-c.Done():
		return true
	case <-s.over:
	case <-timer.C:
	}
	return !proxy.Cancel(c)
}

// cutAnywhere cuts a connection in the middle of whatever is said on it.
func (s *postgresSite) cutAnywhere() fault {
	return s.trouble("cut anywhere", func(p *slot, srv *server) bool {
		return p.awaits(srv.proxy, srv.proxy.CutAfter(pgproxy.Direction(p.rand.IntN(2)), 1+p.rand.Int64N(20_000)))
	})
}

// breakDown ends all connections and lets nobody in for a while.
func (s *postgresSite) breakDown() fault {
	return s.trouble("network down", func(p *slot, srv *server) bool {
		srv.proxy.Refuse(true)
		srv.proxy.CutAll()
		waitOr(p.over, p.within(2*p.program.lease()))
		srv.proxy.Refuse(false)
		return true
	})
}

// stall lets nothing through for longer than a lease, and nobody is told.
func (s *postgresSite) stall() fault {
	return s.trouble("network stalled", func(p *slot, srv *server) bool {
		srv.proxy.Pause()
		waitOr(p.over, p.between(p.program.lease()/2, 2*p.program.lease()))
		srv.proxy.Resume()
		return true
	})
}

// session is somebody's transaction that stands in the way for a while. It does not
// happen when it has to wait for others too long itself.
func (s *postgresSite) session(name, statement string) fault {
	return s.trouble(name, func(p *slot, srv *server) bool {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := pgx.Connect(ctx, srv.DSN())
		if !p.must(err) {
			return false
		}
		_, err = conn.Exec(ctx, `BEGIN; SET LOCAL lock_timeout = '500ms'; `+statement, pgx.QueryExecModeSimpleProtocol)
		if err == nil {
			waitOr(p.over, p.within(4*p.program.lease()))
		}
		return p.must(conn.Close(ctx)) && err == nil
	})
}

// exhaust takes all connections that the server gives, for a while.
func (s *postgresSite) exhaust() fault {
	return s.trouble("no connection left", func(p *slot, srv *server) bool {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var taken []*pgx.Conn
		var full error
		for full == nil && len(taken) <= serverConnections {
			var conn *pgx.Conn
			if conn, full = pgx.Connect(ctx, srv.DSN()); full == nil {
				taken = append(taken, conn)
			}
		}
		waitOr(p.over, p.within(2*p.program.lease()))
		for _, conn := range taken {
			p.must(conn.Close(ctx))
		}
		return p.recovers(srv) && full != nil
	})
}

// fillDisk fills the disk of the server for a while. A server that cannot write its
// log ends; it is started again.
func (s *postgresSite) fillDisk() fault {
	f := s.trouble(fullDiskFault, func(p *slot, srv *server) bool {
		if !p.must(srv.FillDisk()) {
			return false
		}
		waitOr(p.over, p.between(100*time.Millisecond, time.Second))
		if !p.must(srv.FreeDisk()) {
			return false
		}
		return (srv.Running() || p.must(srv.Start(context.Background()))) && p.recovers(srv)
	})
	return fault{f.name, func(p *slot) bool {
		return !s.of(p.round).disk || f.do(p) // without a disk to fill its turn is over
	}}
}

// recovers waits until a server takes connections that has ended its own processes.
func (s *slot) recovers(srv *server) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := srv.exec(ctx, `SELECT 1`)
		if err == nil || ctx.Err() != nil {
			return s.must(err)
		}
		waitOr(ctx.Done(), 20*time.Millisecond)
	}
}
