package postgres

import "github.com/redrive/redrive/internal/sqlstore"

const (
	// replicates says whether commits wait for standbys.
	replicates = `current_setting('synchronous_standby_names') <> ''`
	// followed writes a record to the server's log and nothing else. It takes no right.
	followed = `SELECT pg_catalog.pg_logical_emit_message(true, 'redrive'::text, ''::text)`
)

var followTx = &sqlstore.Query{Name: "followTx"}

// follow is for a transaction whose answer rests on rows that were there already.
// The standbys may not have these: a commit that was waiting for them and was given
// up by its client can be seen all the same. What writes nothing waits for nobody, so
// it writes a record, and its commit waits until the standbys have all before it.
func follow(t *sqlstore.Txn) error {
	if own, ok := t.Session().(*session); !t.ReliesOnEarlier() || ok && !own.standby {
		return nil
	}
	_, err := t.Session().Exec(followTx)
	return err
}
