package pgproxy_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgproxy"
	"github.com/redrive/redrive/internal/testing/pgtest"
)

// before starts a proxy in front of the shared server for one test.
func before(t *testing.T, dsn string) (p *pgproxy.Proxy, through string) {
	t.Helper()
	p, through, err := pgproxy.Before(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, through
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // no error check: the proxy may have cut the connection
	return conn
}

// The ways in which pgx can commit a row.
var commits = map[string]struct {
	match func(*pgproxy.Message) bool
	do    func(ctx context.Context, conn *pgx.Conn, insert string) error
}{
	"a transaction": {pgproxy.Commit, func(ctx context.Context, conn *pgx.Conn, insert string) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, insert, "a row")
			return err
		})
	}},
	"a batch with a block": {pgproxy.Commit, func(ctx context.Context, conn *pgx.Conn, insert string) error {
		var b pgx.Batch
		b.Queue("BEGIN")
		b.Queue(insert, "a row")
		b.Queue("COMMIT")
		return conn.SendBatch(ctx, &b).Close()
	}},
	"a batch without a block": {pgproxy.Auto, func(ctx context.Context, conn *pgx.Conn, insert string) error {
		var b pgx.Batch
		b.Queue(insert, "a row")
		b.Queue("SELECT 1")
		return conn.SendBatch(ctx, &b).Close()
	}},
	"one statement": {
		func(m *pgproxy.Message) bool { return m.Auto && pgproxy.Runs("insert")(&pgproxy.Message{SQL: m.SQL}) },
		func(ctx context.Context, conn *pgx.Conn, insert string) error {
			_, err := conn.Exec(ctx, insert, "a row")
			return err
		},
	},
}

// With a real server, the cut decides whether the row is committed, and the client always gets an
// error.
func TestCutsOfARealServer(t *testing.T) {
	t.Parallel()
	points := map[string]struct {
		point pgproxy.Point
		rows  int
	}{
		"before the message": {pgproxy.BeforeMessage, 0},
		"after the message":  {pgproxy.AfterMessage, 1},
		"before the reply":   {pgproxy.BeforeReply, 1},
		"in the reply":       {pgproxy.InReply, 1},
	}
	for how, commit := range commits {
		for where, at := range points {
			t.Run(how+", "+where, func(t *testing.T) {
				t.Parallel()
				dsn, schema := pgtest.Schema(t)
				direct := connect(t, dsn)
				if _, err := direct.Exec(t.Context(), "CREATE SCHEMA "+schema+"; CREATE TABLE "+schema+".jobs (name text)"); err != nil {
					t.Fatal(err)
				}
				p, through := before(t, dsn)
				conn := connect(t, through)
				insert := "INSERT INTO " + schema + ".jobs VALUES ($1)"
				if err := commit.do(t.Context(), conn, insert); err != nil { // the first commit, without a cut, prepares the statements
					t.Fatal(err)
				}
				cut := p.Cut(at.point, commit.match)
				if err := commit.do(t.Context(), conn, insert); err == nil {
					t.Error("the client got no error from the cut connection, want an error")
				}
				await(t, cut.Done(), "the cut")
				var rows int
				if err := direct.QueryRow(t.Context(), "SELECT count(*) FROM "+schema+".jobs").Scan(&rows); err != nil {
					t.Fatal(err)
				}
				if rows != 1+at.rows {
					t.Errorf("got %d rows, want the row from before the cut and %d more", rows, at.rows)
				}
				if err := commit.do(t.Context(), connect(t, through), insert); err != nil {
					t.Errorf("a commit through the proxy after the cut failed: %v", err)
				}
			})
		}
	}
}
