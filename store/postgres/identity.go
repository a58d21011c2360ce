package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

// identityText tells a schema of one database from all others: by the names and
// by a number that was drawn when its tables were made.
func identityText(schema string) string {
	return `SELECT current_database() || '/' || (SELECT value FROM ` + quote(schema) + `.redrive_meta WHERE key = 'identity')`
}

func identify(ctx context.Context, conn *pgconn.PgConn, schema string) (string, error) {
	var r result
	if err := r.read(conn.ExecParams(ctx, identityText(schema), nil, nil, nil, binaryColumns)); err != nil {
		return "", asStoreError(&failed{"identify the schema", err})
	}
	return r.row(0).Text(0), nil
}
