package postgres

import (
	"github.com/redrive/redrive/internal/sqlstore"
	pg "github.com/redrive/redrive/store/postgres/internal/conn"
)

// replicates says whether commits wait for standbys.
const replicates = `current_setting('synchronous_standby_names') <> ''`

// followAlways and followTx write a record to the server's log; followTx only where commits wait for standbys.
var (
	followAlways = &sqlstore.Query{Name: "follow"}
	followTx     = &sqlstore.Query{Name: "followTx"}
)

// follow is for a transaction whose answer rests on rows that were there already.
// The standbys may not have these: a commit that was waiting for them and was given
// up by its client can be seen all the same. What writes nothing waits for nobody, so
// it writes a record, and its commit waits until the standbys have all before it.
func follow(t *sqlstore.Txn) error {
	if own, ok := t.Session().(*pg.Session); !t.ReliesOnEarlier() || ok && !own.Standby {
		return nil
	}
	_, err := t.Session().Exec(followTx)
	return err
}
