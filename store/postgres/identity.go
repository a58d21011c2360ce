package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive/redrive/internal/sqlstore"
)

// selIdentity tells a schema of one database from all others.
var selIdentity = &sqlstore.Query{Name: "selIdentity"}

func identify(ctx context.Context, conn *pgconn.PgConn, texts sqlstore.Texts) (string, error) {
	var r result
	if err := r.read(conn.ExecParams(ctx, texts.Of(selIdentity), nil, nil, nil, binaryColumns)); err != nil {
		return "", asStoreError(&failed{"identify the schema", err})
	}
	return r.row(0).Text(0), nil
}
