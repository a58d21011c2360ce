package postgres

import (
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
	var r result
	if err := r.read(conn.PgConn().ExecParams(ctx, shippedTexts().Of(selRights), [][]byte{[]byte(schema)}, nil, nil, binaryColumns)); err != nil {
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
