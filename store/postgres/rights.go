package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// selRights finds a table that the user may not read and write.
var selRights = &sqlstore.Query{Name: "selRights"}

// checkRights refuses a user who may not write everything that the store writes.
// Else some call would be the first to find out.
func checkRights(ctx context.Context, conn *pgx.Conn, schema string) error {
	var r pg.Result
	if err := r.Read(conn.PgConn().ExecParams(ctx, shippedTexts().Of(selRights), [][]byte{[]byte(schema)}, nil, nil, pg.BinaryColumns)); err != nil {
		return pg.AsStoreError(pg.Fail("ask for rights", err))
	}
	if r.Len() == 0 {
		return nil
	}
	row := r.Row(0)
	user := pg.Quote(row.Text(1))
	return fmt.Errorf("%w: the user may not read and write %s.%s: as its owner, "+
		"GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s",
		store.ErrReadOnly, schema, row.Text(0), pg.Quote(schema), user, pg.Quote(schema), user)
}
