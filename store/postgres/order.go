package postgres

import (
	"fmt"
	"strings"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// Events are numbered by the transactions that write them, and a transaction gets
// its number with the first row that it locks. If it then comes to a row that a
// later one has changed meanwhile, its own event would stand before what it follows.
// So whoever takes a job in whatever state it is looks at who has written the row,
// and begins anew, with a new number, when that is a later one. Runs need no such
// look: who holds the token has it from an earlier transaction.

// overtaken tells, in a query around the one that has locked the rows, whether the
// transaction that has written a row is later than this one. Of its number the row
// has the lower half, also long after others have had the same half. So only those
// count that can be later: what the statement saw as begun, and what has come while
// it ran.
const overtaken = `((written - (SELECT pg_current_xact_id()::text::bigint)) & 4294967295) BETWEEN 1 AND 65536
	+ (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint)`

// writtenBy is the column that overtaken needs.
const writtenBy = `xmin::text::bigint AS written`

// inOrder are the shared statements with that look.
var inOrder = map[string]bool{"selAny": true}

// withOrder puts the look around a statement that locks rows.
func withOrder(text string) string {
	return `SELECT x.*, ` + overtaken + ` FROM (` + strings.Replace(text, ` FROM `, `, `+writtenBy+` FROM `, 1) + `) x`
}

var errOvertaken = fmt.Errorf("a later transaction was faster: %w", store.ErrUnavailable)

// notOvertaken hands on rows whose last column says that they can be taken.
func notOvertaken(each func(sqlstore.Row) error) func(sqlstore.Row) error {
	return func(r sqlstore.Row) error {
		if row, ok := r.(resultRow); ok && row.Int(len(row.fields)-1) != 0 {
			return errOvertaken
		}
		return each(r)
	}
}
