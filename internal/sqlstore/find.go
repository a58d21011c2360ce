package sqlstore

import "github.com/redrive/redrive/job"

// A job is in one of three places: live in redrive_jobs, ended in redrive_done,
// dead in redrive_dead. They are asked in this order; the entry of a dead job
// that was retried stays where it is, marked as revived.
var (
	selLive = declare("selLive", `SELECT state, token FROM redrive_jobs WHERE id = ?`)
	selDone = declare("selDone", `SELECT state, token FROM redrive_done INDEXED BY redrive_done_job WHERE job = +? ORDER BY seq DESC LIMIT 1`)
	selDead = declare("selDead", `SELECT 5, token FROM redrive_dead WHERE job = ? AND revived = 0`)
)

// selPlace asks all three at one moment: where there are other writers, a job may
// go from one place to another between two statements. They say it in their words.
var selPlace = &Query{Name: "selPlace"}

// find returns where a job stands and its last token; None when it is nowhere.
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
