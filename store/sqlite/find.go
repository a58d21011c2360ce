package sqlite

import "github.com/redrive/redrive/job"

// A job is in one of three places: live in redrive_jobs, ended in redrive_done,
// dead in redrive_dead. They are asked in this order; the entry of a dead job
// that was retried stays where it is, marked as revived.
var (
	selLive = &query{`SELECT state, token FROM redrive_jobs WHERE id = ?`}
	selDone = &query{`SELECT state, token FROM redrive_done INDEXED BY redrive_done_job WHERE job = +? ORDER BY seq DESC LIMIT 1`}
	selDead = &query{`SELECT 5, token FROM redrive_dead WHERE job = ? AND revived = 0`}
)

// find returns where a job stands and its last token; None when it is nowhere.
func (t *txn) find(id job.ID) (state job.State, token job.Token, err error) {
	for _, q := range [...]*query{selLive, selDone, selDead} {
		err = t.rows(q, func(r row) error {
			state, token = job.State(r.int(0)), job.Token(r.int(1))
			return nil
		}, num(id))
		if err != nil || state != job.None {
			break
		}
	}
	return state, token, err
}
