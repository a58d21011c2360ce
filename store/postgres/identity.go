package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive/redrive/internal/sqlstore"
)

// selIdentity tells a schema of one database from all others.
var selIdentity = &sqlstore.Query{Name: "selIdentity"}

func identify(ctx context.Context, conn *pgconn.PgConn, texts sqlstore.Texts) (string, error) {
	var r pg.Result
	if err := r.Read(conn.ExecParams(ctx, texts.Of(selIdentity), nil, nil, nil, pg.BinaryColumns)); err != nil {
		return "", pg.AsStoreError(pg.Fail("identify the schema", err))
	}
	return r.Row(0).Text(0), nil
}
