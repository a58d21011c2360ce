package storetest

import (
	"context"
	"errors"

	"github.com/redrive/redrive/store"
)

// bentStream breaks promises about streams.
type bentStream struct {
	store.Store
	gap, conflicts, offsets bool
	save                    func(*store.SinkSave)
	move                    func(*store.PositionMove)
}

func (s bentStream) Take(ctx context.Context, x store.Taking) ([]store.Taken, error) {
	if s.offsets { // what begins is taken from the first record, not from where reading began
		for i := range x.Parts {
			if p := &x.Parts[i]; len(p.Records) > 0 {
				p.From = p.Records[0].Offset
			}
		}
	}
	answer, err := s.Store.Take(ctx, x)
	if gap, ok := errors.AsType[*store.Gap](err); ok && s.gap {
		for i := range x.Parts {
			x.Parts[i].From = gap.Position
		}
		return s.Store.Take(ctx, x)
	}
	if conflict, ok := errors.AsType[*store.TakeConflict](err); ok && s.conflicts {
		return nil, &conflict.Conflicts[0]
	}
	return answer, err
}

func (s bentStream) SaveSink(ctx context.Context, c store.SinkSave) error {
	if s.save != nil {
		s.save(&c)
	}
	return s.Store.SaveSink(ctx, c)
}

func (s bentStream) MovePosition(ctx context.Context, by store.By, m store.PositionMove) (store.Position, error) {
	if s.move != nil {
		s.move(&m)
	}
	return s.Store.MovePosition(ctx, by, m)
}

func streamMutants() []mutant {
	with := func(b bentStream) func(store.Store, *Clock) store.Store {
		return func(s store.Store, _ *Clock) store.Store { b.Store = s; return b }
	}
	return []mutant{
		{"takes records after a gap", "S4_GapIsRefused", with(bentStream{gap: true})},
		{"takes the first record for the start of what was read", "S4_HolesInOffsetsAreNoGap", with(bentStream{offsets: true})},
		{"names one conflict of several", "I1_ConflictsAreAllNamed", with(bentStream{conflicts: true})},
		{"forgets the error of a sink", "S4_SinkKeepsItsError", with(bentStream{save: func(c *store.SinkSave) { c.Error = "" }})},
		{"does not move a position", "S4_MoveOfPositionIsAudited", with(bentStream{move: func(m *store.PositionMove) { m.To = m.From }})},
	}
}
