package systems

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/redrive/redrive/bench/agent"
	"github.com/redrive/redrive/store/sqlite"
)

func redriveSQLite() agent.Program {
	return agent.Program{Modules: []string{"modernc.org/sqlite", "zombiezen.com/go/sqlite"}, Open: openRedriveSQLite}
}

func openRedriveSQLite(ctx context.Context, c agent.Config, w *agent.Work) (agent.System, error) {
	s, err := sqlite.Open(ctx, filepath.Join(c.Dir, "redrive.db"), nil)
	if err != nil {
		return nil, err
	}
	r, err := newRedrive(s, c, w)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	db, err := openSQLite(c.Dir, "redrive.db", "mode=ro")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	r.closeRows = db.Close
	r.rows = func(ctx context.Context) (n agent.Counts, err error) {
		return n, scan(ctx, db, redriveRows, &n.Unfinished, &n.Finished, &n.Dead)
	}
	r.durability = func(ctx context.Context) (string, error) { return redriveDurability(ctx, s) }
	return r, nil
}

// redriveDurability reads the settings for durability from the database, through the store's own
// connection.
func redriveDurability(ctx context.Context, s *sqlite.Store) (words string, err error) {
	err = s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		words, err = pragmas(ctx, tx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the settings back: %w", err)
	}
	return words, nil
}
