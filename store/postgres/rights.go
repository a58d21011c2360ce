package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/store"
)

// checkRights refuses a user who may not write everything that the store writes.
// Else some call would be the first to find out.
func checkRights(ctx context.Context, conn *pgx.Conn, schema string) error {
	const query = `SELECT c.relname, current_user FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname LIKE 'redrive\_%' AND c.relname <> 'redrive_migrations'
		AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
			AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
		ORDER BY c.relname LIMIT 1`
	var r result
	if err := r.read(conn.PgConn().ExecParams(ctx, query, [][]byte{[]byte(schema)}, nil, nil, binaryColumns)); err != nil {
		return asStoreError(&failed{"ask for rights", err})
	}
	if r.len() == 0 {
		return nil
	}
	row := r.row(0)
	user := quote(row.Text(1))
	return fmt.Errorf("%w: the user may not read and write %s.%s: as its owner, "+
		"GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s",
		store.ErrReadOnly, schema, row.Text(0), quote(schema), user, quote(schema), user)
}
