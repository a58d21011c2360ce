package postgres

import (
	"errors"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"
)

// dividesMax bounds how often parts of a group wait in vain.
const dividesMax = 32

// divide writes the parts of a group that has waited in vain, though none of its
// calls should have to wait: most likely the id of one of them is in a transaction
// that is open. The others must not suffer for it.
func (s *Store) divide(group []*enqueueCall) {
	vain := 0
	var singly []*enqueueCall
	var write func(part []*enqueueCall)
	write = func(part []*enqueueCall) {
		apart, err := s.insert(part, true)
		if pg.HeldUp(err) && len(part) > 1 && vain < dividesMax {
			vain++
			write(part[:len(part)/2])
			write(part[len(part)/2:])
			return
		}
		singly = append(singly, answerAll(part, apart, err, errors.Is(err, errSingly) || pg.OfStatement(err))...)
	}
	write(group[:len(group)/2])
	write(group[len(group)/2:])
	s.singly(singly, false)
}
