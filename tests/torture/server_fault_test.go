//go:build linux

package torture

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgproxy"
	"github.com/redrive/redrive/internal/testing/servers"
)

const (
	fullDiskFault   = "full disk of the server"
	killedPoolFault = "PgBouncer killed"
)

// faults are the faults of the server of a round and of the network to it.
func (s *postgresSite) faults() []fault {
	return []fault{
		s.restart("server restarted", servers.Fast), s.restart("server crashed", servers.Immediate), s.outage(),
		s.terminate("backend ended", `LIMIT 1`), s.terminate("backend ended", `LIMIT 1`), s.terminate("all backends ended", ``),
		s.cut("cut before COMMIT", pgproxy.BeforeMessage), s.cut("cut before COMMIT", pgproxy.BeforeMessage),
		s.cut("cut in COMMIT", pgproxy.AfterMessage), s.cut("cut in COMMIT", pgproxy.AfterMessage),
		s.cut("cut after COMMIT", pgproxy.BeforeReply), s.cut("cut after COMMIT", pgproxy.BeforeReply),
		s.cut("cut in the reply to COMMIT", pgproxy.InReply),
		s.cutAnywhere(), s.breakDown(), s.stall(), s.fillDisk(), s.exhaust(), s.killPool(),
		s.session("writer that does not end", `SELECT pg_current_xact_id()`),
		s.session("table locked", `LOCK TABLE `+schema+`.redrive_jobs IN ACCESS EXCLUSIVE MODE`),
		s.session("jobs locked", `SELECT count(*) FROM (SELECT 1 FROM `+schema+`.redrive_jobs ORDER BY id LIMIT 20 FOR UPDATE) x`),
	}
}

// trouble makes a fault that begins a problem, waits for a while, and ends the problem.
func (s *postgresSite) trouble(name string, do func(p *slot, srv *server) bool) fault {
	return fault{name, func(p *slot) bool {
		defer p.lack()()
		defer p.troubled(name)()
		happened := do(p, s.of(p.round))
		if happened {
			p.faulted(name)
		}
		return happened
	}}
}

// must fails the test if a fault could not be caused.
func (s *slot) must(err error) bool {
	if err != nil {
		s.Errorf("round %d: a fault of the server could not be caused: %v", s.n, err)
	}
	return err == nil
}

// restart makes a fault that stops the server and starts it again, sometimes after a while.
func (s *postgresSite) restart(name string, mode servers.Mode) fault {
	return s.trouble(name, func(p *slot, srv *server) bool {
		if !p.must(srv.Stop(mode)) {
			return false
		}
		waitOr(p.over, p.within(p.program.lease()))
		return p.must(srv.Start(context.Background()))
	})
}

// outage makes a fault that stops the server for longer than a lease.
func (s *postgresSite) outage() fault {
	return s.trouble("server away for longer than a lease", func(p *slot, srv *server) bool {
		if !p.must(srv.Stop(servers.Immediate)) {
			return false
		}
		waitOr(p.over, p.between(p.program.lease()*3/2, 2*p.program.lease()))
		return p.must(srv.Start(context.Background()))
	})
}

// terminate makes a fault that ends connections of redrive, as an administrator does.
func (s *postgresSite) terminate(name, which string) fault {
	return s.trouble(name, func(p *slot, srv *server) bool {
		return p.must(srv.exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM (
			SELECT pid FROM pg_stat_activity WHERE application_name IN ('redrive', 'application') ORDER BY random() `+which+`) x`))
	})
}

// cut makes a fault that cuts the connection of the next COMMIT.
func (s *postgresSite) cut(name string, at pgproxy.Point) fault {
	return s.trouble(name, func(p *slot, srv *server) bool { return p.awaits(srv.proxy, srv.proxy.Cut(at, pgproxy.Commit)) })
}

// awaits waits until a cut is made. If the cut is not made in time, awaits withdraws it.
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

// cutAnywhere makes a fault that cuts a connection after a random number of bytes.
func (s *postgresSite) cutAnywhere() fault {
	return s.trouble("cut anywhere", func(p *slot, srv *server) bool {
		return p.awaits(srv.proxy, srv.proxy.CutAfter(pgproxy.Direction(p.rand.IntN(2)), 1+p.rand.Int64N(20_000)))
	})
}

// breakDown makes a fault that ends all connections and refuses new ones for a while.
func (s *postgresSite) breakDown() fault {
	return s.trouble("network down", func(p *slot, srv *server) bool {
		srv.proxy.Refuse(true)
		srv.proxy.CutAll()
		waitOr(p.over, p.within(2*p.program.lease()))
		srv.proxy.Refuse(false)
		return true
	})
}

// stall makes a fault that holds back all bytes for longer than a lease, without an error.
func (s *postgresSite) stall() fault {
	return s.trouble("network stalled", func(p *slot, srv *server) bool {
		srv.proxy.Pause()
		waitOr(p.over, p.between(p.program.lease()/2, 2*p.program.lease()))
		srv.proxy.Resume()
		return true
	})
}

// session makes a fault with a foreign transaction that blocks other transactions for a while. The
// fault is given up if the foreign transaction must wait too long.
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

// killPool makes a fault that kills PgBouncer, which is then started again. In rounds without
// PgBouncer the fault is skipped.
func (s *postgresSite) killPool() fault {
	f := s.trouble(killedPoolFault, func(p *slot, srv *server) bool {
		srv.pool.Kill()
		return p.recovers(srv)
	})
	return fault{f.name, func(p *slot) bool { return s.of(p.round).pool == nil || f.do(p) }}
}

// exhaust makes a fault that takes all connections of the server for a while.
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

// fillDisk makes a fault that fills the server's file system for a while. A server that cannot
// write its log ends, and is started again.
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
		return !s.of(p.round).disk || f.do(p) // without a small file system the fault is skipped
	}}
}

// recovers waits until the server accepts connections again after it has ended its own processes.
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
