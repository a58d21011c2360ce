package storetest

import (
	"context"
	"time"

	"github.com/redrive/redrive/store"
)

// seriesMutants are broken stores that return wrong figures over time.
func seriesMutants() []mutant {
	queries := func(change func(*store.SeriesQuery)) func(store.Store, *Clock) store.Store {
		return func(s store.Store, _ *Clock) store.Store {
			return &charting{Store: s, query: change, points: func([]store.Point) []store.Point { return nil }}
		}
	}
	points := func(change func([]store.Point) []store.Point) func(store.Store, *Clock) store.Store {
		return func(s store.Store, _ *Clock) store.Store {
			return &charting{Store: s, query: func(*store.SeriesQuery) {}, points: change}
		}
	}
	return []mutant{
		{"adds the figures of all queues", "M6_SeriesByQueueAndKind", queries(func(q *store.SeriesQuery) { q.Queue = "" })},
		{"adds the figures of all kinds", "M6_SeriesSumsTheFigures", queries(func(q *store.SeriesQuery) { q.Kind = "" })},
		{"returns hours where minutes are asked for", "M6_SeriesByMinuteAndHour", queries(func(q *store.SeriesQuery) {
			if q.Step < time.Hour {
				q.Step = time.Hour
			}
		})},
		{"counts deaths as failed attempts", "M4_SeriesByClass", points(func(points []store.Point) []store.Point {
			for i := range points {
				points[i].Failed += points[i].Dead
			}
			return points
		})},
		{"does not count the jobs that recover from a class", "M4_RetriesByClass", points(func(points []store.Point) []store.Point {
			for i := range points {
				points[i].Recovered = 0
			}
			return points
		})},
		{"leaves out the last step", "M6_SeriesByMinuteAndHour", points(func(points []store.Point) []store.Point {
			return points[:max(0, len(points)-1)]
		})},
		{"leaves out the time that jobs have waited", "M6_SeriesByMinuteAndHour", points(func(points []store.Point) []store.Point {
			for i := range points {
				points[i].WaitTime = 0
			}
			return points
		})},
		{"counts a crash as a failed attempt", "M6_EachAttemptIsCountedOnce", points(func(points []store.Point) []store.Point {
			for i := range points {
				points[i].Failed += points[i].Crashed
			}
			return points
		})},
		{"counts an overdue retry in the next minute", "U3_DueRetriesByMinute", func(s store.Store, _ *Clock) store.Store { return &neverLate{s} }},
		{"shows the first later job as due", "Q7_HeadsOfLanes", func(s store.Store, _ *Clock) store.Store { return &hastyHeads{s} }},
	}
}

// charting is a broken store: it changes the query of each call of Series, or the points that
// Series returns.
type charting struct {
	store.Store
	query  func(*store.SeriesQuery)
	points func([]store.Point) []store.Point
}

func (s *charting) Series(ctx context.Context, q store.SeriesQuery) ([]store.Point, error) {
	s.query(&q)
	points, err := s.Store.Series(ctx, q)
	if changed := s.points(points); changed != nil {
		points = changed
	}
	return points, err
}

// neverLate is a broken store: it counts an overdue retry as due in the first minute.
type neverLate struct{ store.Store }

func (s *neverLate) Due(ctx context.Context, minutes int) (store.DueRetries, error) {
	d, err := s.Store.Due(ctx, minutes)
	if err == nil {
		d.Minutes[0], d.Overdue = d.Minutes[0]+d.Overdue, 0
	}
	return d, err
}

// hastyHeads is a broken store: if no job of a queue and kind is due, it reports the first later
// job as due.
type hastyHeads struct{ store.Store }

func (s *hastyHeads) Heads(ctx context.Context) ([]store.Head, error) {
	heads, err := s.Store.Heads(ctx)
	for i := range heads {
		if heads[i].Due == 0 {
			heads[i].Due = heads[i].Later
		}
	}
	return heads, err
}
