package sqlstore

import (
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selOwnedPartsUp = askWalk("selOwnedPartsUp")
	pickSome        = ask("pickSome")
)

// pickBlock is the minimum number of jobs with a correlation id that a search reads at a time.
const pickBlock = 64

// correlated does the same as pick, for an action on the jobs with a correlation id. It reads
// the index of owners. ok is false if the index lacks too many events.
func (p *picker) correlated(want int) (found picked, ok bool, err error) {
	ids := lowest{tag: correlationTag([]byte(p.f.Correlation)), after: p.a.After, through: p.a.Through}
	list := ownedList{lister: &p.lister}
	if ok, err = list.tail(ids.add); err != nil || !ok {
		return found, false, err
	}
	err = p.rows(selOwnedPartsUp, func(r Row) error {
		if ids.complete(job.ID(r.Int(0))) {
			return errEnough
		}
		part, err := ownedOf(r.Blob(1), ids.tag)
		for _, id := range part {
			ids.add(id)
		}
		ids.cut()
		return err
	}, num(int64(ids.tag)), num(p.a.After))
	if err := enough(err); err != nil {
		return found, false, err
	}
	ids.cut()
	found, err = p.pickSome(ids.ids, want)
	if !found.more && ids.left {
		found.more, found.edge = true, ids.ids[len(ids.ids)-1]
	}
	return found, true, err
}

// pickSome finds those of the given jobs to which the action applies, at most the given
// number. The ids must be sorted.
func (p *picker) pickSome(ids []job.ID, want int) (found picked, err error) {
	look := 0
	for len(ids) > 0 {
		block := ids[:min(len(ids), max(pickBlock, want+1), job.PageMax)]
		ids = ids[len(block):]
		err := p.rows(pickSome, func(r Row) error { return p.examine(r, &found, &look, want) }, idList(block))
		if err := enough(err); err != nil {
			return found, err
		}
		if found.more || len(found.jobs) > want {
			break
		}
	}
	found.limit(want)
	return found, nil
}

// lowest collects the lowest ids of a range, at most store.LiveLook of them.
type lowest struct {
	tag            uint32
	after, through job.ID // the range: ids above the first of these ids, up to and including the second
	ids            []job.ID
	left           bool // whether ids of the range were left out
}

func (l *lowest) add(id job.ID) {
	if id > l.after && id <= l.through {
		l.ids = append(l.ids, id)
	}
}

// cut sorts the ids and keeps only the lowest.
func (l *lowest) cut() {
	slices.Sort(l.ids)
	l.ids = slices.Compact(l.ids)
	l.left = l.left || len(l.ids) > store.LiveLook
	l.ids = l.ids[:min(len(l.ids), store.LiveLook)]
}

// complete reports whether no id that is equal to the given one or higher can be among the
// lowest.
func (l *lowest) complete(low job.ID) bool {
	if low > l.through {
		return true
	}
	full := len(l.ids) == store.LiveLook && low > l.ids[len(l.ids)-1]
	l.left = l.left || full
	return full
}
