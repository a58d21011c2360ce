package systems

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/bench/agent"
	"github.com/redrive/redrive/store/postgres"
)

func redrivePostgres() agent.Program {
	return agent.Program{Modules: []string{"github.com/jackc/pgx/v5"}, Open: openRedrivePostgres}
}

func openRedrivePostgres(ctx context.Context, c agent.Config, w *agent.Work) (agent.System, error) {
	s, err := postgres.Open(ctx, c.Address, nil)
	if err != nil {
		return nil, err
	}
	r, err := newRedrive(s, c, w)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	pool, err := pgxpool.New(ctx, c.Address) // connections for the queries of the benchmark itself
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	r.closeRows = func() error { pool.Close(); return nil }
	r.rows = func(ctx context.Context) (n agent.Counts, err error) {
		query := strings.ReplaceAll(redriveRows, "FROM ", "FROM "+postgres.DefaultSchema+".")
		return n, pool.QueryRow(ctx, query).Scan(&n.Unfinished, &n.Finished, &n.Dead)
	}
	r.durability = func(ctx context.Context) (string, error) {
		var fsync, commit string
		err := pool.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit')`).Scan(&fsync, &commit)
		return fmt.Sprintf("fsync=%s synchronous_commit=%s", fsync, commit), err
	}
	return r, nil
}
