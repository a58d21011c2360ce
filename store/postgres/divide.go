package postgres

import (
	"errors"
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
		switch held := heldUp(err); {
		case held && len(part) > 1 && vain < dividesMax:
			vain++
			write(part[:len(part)/2])
			write(part[len(part)/2:])
			return
		case errors.Is(err, errSingly), ofStatement(err):
			singly = append(singly, part...)
			return
		case err != nil:
			for _, call := range part {
				call.answer <- enqueueAnswer{err: err}
			}
			return
		}
		for _, call := range part {
			if apart[call] {
				singly = append(singly, call)
			} else {
				call.answer <- enqueueAnswer{receipts: receipts(call.jobs)}
			}
		}
	}
	write(group[:len(group)/2])
	write(group[len(group)/2:])
	s.singly(singly, false)
}
