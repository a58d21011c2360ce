package sqlstore

import "github.com/redrive/redrive/job"

// A job is in one of three tables: redrive_jobs if it is live, redrive_done if it has ended,
// redrive_dead if it is dead. The tables are searched in this order. The entry of a dead job that
// was retried stays in redrive_dead, marked as revived.
var (
	selLive = declare("selLive", `SELECT state, token FROM redrive_jobs WHERE id = ?`)
	selDone = declare("selDone", `SELECT state, token FROM redrive_done INDEXED BY redrive_done_job WHERE job = +? ORDER BY seq DESC LIMIT 1`)
	selDead = declare("selDead", `SELECT 5, token FROM redrive_dead WHERE job = ? AND revived = 0`)
)

// selPlace searches all three tables for a job in one statement. With two statements, another
// writer could move the job between them. Only a store with other writers has an SQL text for
// this statement.
var selPlace = &Query{Name: "selPlace"}

// find returns the state of a job and the token of its last run. If the job does not exist, the
// state is job.None.
func (t *Txn) find(id job.ID) (state job.State, token job.Token, err error) {
	places := []*Query{selLive, selDone, selDead}
	if t.shared() {
		places = []*Query{selPlace}
	}
	for _, q := range places {
		err = t.rows(q, func(r Row) error {
			state, token = job.State(r.Int(0)), job.Token(r.Int(1))
			return nil
		}, num(id))
		if err != nil || state != job.None {
			break
		}
	}
	return state, token, err
}
