package postgres

import (
	"errors"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"
)

// dividesMax bounds how often parts of one batch, of outcomes or of new jobs, wait in vain. Parts that have not been
// tried by then are not divided further: outcomes are asked again, and new jobs are written one by one.
const dividesMax = 32

// inParts writes a batch that cannot be written together in smaller and smaller parts. The function writes a part and
// returns what of it is to be divided and tried again.
func inParts[T any](part []T, write func(part []T) (rest []T)) {
	rest := write(part)
	if len(rest) < 2 {
		return
	}
	inParts(rest[:len(rest)/2], write)
	inParts(rest[len(rest)/2:], write)
}

// divide writes the parts of a group that has waited in vain, though none of its
// calls should have to wait: most likely the id of one of them is in a transaction
// that is open. The others must not suffer for it.
func (s *Store) divide(group []*enqueueCall) {
	waited := 0
	var singly []*enqueueCall
	write := func(part []*enqueueCall) []*enqueueCall {
		apart, err := s.insert(part, true)
		if pg.HeldUp(err) && len(part) > 1 && waited < dividesMax {
			waited++
			return part
		}
		singly = append(singly, answerAll(part, apart, err, errors.Is(err, errOneByOne) || pg.OfStatement(err))...)
		return nil
	}
	inParts(group[:len(group)/2], write)
	inParts(group[len(group)/2:], write)
	s.oneByOne(singly, false)
}
