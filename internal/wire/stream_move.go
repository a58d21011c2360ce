package wire

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// StreamMove is the JSON shape of a change of a position.
type StreamMove struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"` // the offset of the next record before the move
	To        int64  `json:"to"`   // and after it

	Move store.PositionMove `json:"-"` // the order to the store
}

// StreamPart selects partitions of a stream.
type StreamPart struct {
	Topic     string `json:"topic,omitempty"`     // only this topic
	Partition *int32 `json:"partition,omitempty"` // only this partition
}

func (o *StreamPart) has(p *StreamPartition) bool {
	return (o.Topic == "" || p.Topic == o.Topic) && (o.Partition == nil || p.Partition == *o.Partition)
}

// CheckRewind returns an error unless positions can be moved to this place: store, start, end or an offset.
func CheckRewind(to string, o *StreamPart) error {
	offset, err := strconv.ParseInt(to, 10, 64)
	switch {
	case to == "store" || to == "start" || to == "end":
	case err != nil || offset < 0:
		return fmt.Errorf("%.40q must be store, start, end or an offset from 0: %w", to, store.ErrInvalid)
	case o.Partition == nil:
		return fmt.Errorf("%d: the offset belongs to one partition; name the partition: %w", offset, store.ErrInvalid)
	}
	return nil
}

// Rewind returns the moves with which the partitions are read from another place, which CheckRewind
// accepts. It is an ErrConflict if there is nothing to move, or if a place is not known.
func (s *Stream) Rewind(to string, o *StreamPart) ([]StreamMove, error) {
	offset, parsed := strconv.ParseInt(to, 10, 64)
	return s.moves("rewind", func(p *StreamPartition, m *store.PositionMove) (bool, error) {
		switch {
		case !o.has(p), to == "store" && p.State != "ahead": // it reads from the store anyway
			return false, nil
		case to == "store":
			m.Reached = p.Group
		case parsed == nil:
			m.To = offset
		case p.Start == nil || p.End == nil:
			return false, fmt.Errorf("%s/%d: no process has reported where the partition begins and ends: start `redrive stream run`, or give an offset: %w",
				p.Topic, p.Partition, store.ErrConflict)
		case to == "start":
			m.To = *p.Start
		default:
			m.To = *p.End
		}
		return true, nil
	})
}

// RewindTo returns the moves with which partitions are read from the offsets by place, such as those
// of a time. Partitions without one stay. It is an ErrConflict if there is nothing to move.
func (s *Stream) RewindTo(offsets map[store.Place]int64, o *StreamPart) ([]StreamMove, error) {
	return s.moves("rewind", func(p *StreamPartition, m *store.PositionMove) (bool, error) {
		to, known := offsets[p.Place]
		if !known || !o.has(p) || to == p.Next {
			return false, nil
		}
		m.To = to
		return true, nil
	})
}

// AcceptGap returns the moves with which partitions whose records were removed before they were read
// are read on. It is an ErrConflict if there is nothing to move.
func (s *Stream) AcceptGap(o *StreamPart) ([]StreamMove, error) {
	return s.moves("accept-gap", func(p *StreamPartition, m *store.PositionMove) (bool, error) {
		if !o.has(p) || p.State != "behind" || p.Start == nil {
			return false, nil
		}
		m.To = *p.Start
		return true, nil
	})
}

func (s *Stream) moves(what string, plan func(*StreamPartition, *store.PositionMove) (bool, error)) (moves []StreamMove, err error) {
	for i := range s.Partitions {
		p := &s.Partitions[i]
		m := store.PositionMove{Stream: s.Name, Place: p.Place, From: p.Next, To: p.Next, What: what}
		do, err := plan(p, &m)
		if err != nil {
			return nil, err
		}
		if do {
			moves = append(moves, StreamMove{Topic: p.Topic, Partition: p.Partition, From: m.From, To: m.To, Move: m})
		}
	}
	if len(moves) == 0 {
		return nil, fmt.Errorf("stream %q: no selected partition is in the state that this action needs; `redrive stream show %s` lists the partitions: %w", s.Name, s.Name, store.ErrConflict)
	}
	return moves, nil
}

// StreamMover is the part of a client that MoveStream asks.
type StreamMover interface {
	StreamSource
	MovePosition(ctx context.Context, by store.By, m store.PositionMove) (store.Position, error)
}

// MoveStream plans moves of the positions of a stream, such as with Rewind, and does them one at a time,
// or only returns them if dry is set. After an error, the moves that it returns are done, and a repeat
// does the others.
func MoveStream(ctx context.Context, client StreamMover, name string, now job.Micros, by store.By, dry bool,
	plan func(*Stream) ([]StreamMove, error),
) ([]StreamMove, error) {
	s, err := StreamOf(ctx, client, name, now)
	if err != nil {
		return nil, err
	}
	moves, err := plan(s)
	if err != nil || dry {
		return moves, err
	}
	for i := range moves {
		if _, err := client.MovePosition(ctx, by, moves[i].Move); err != nil {
			return moves[:i], err
		}
	}
	return moves, nil
}

// Text says what a move does, as people read it. A move that was not done says so.
func (m *StreamMove) Text(done bool) string {
	text := fmt.Sprintf("%s/%d: %d → %d", words.Clean(m.Topic), m.Partition, m.From, m.To)
	switch {
	case m.To < m.From:
		text += fmt.Sprintf(", up to %s read again", words.Count(m.From-m.To, "record"))
	case m.To > m.From:
		text += fmt.Sprintf(", up to %s skipped", words.Count(m.To-m.From, "record"))
	default:
		text += ", read on from the position of the store"
	}
	if !done {
		text += " (not done)"
	}
	return text
}
