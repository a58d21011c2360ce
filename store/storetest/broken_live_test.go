package storetest

import (
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// bentLive is a broken store: it changes the arguments of some calls about live jobs before it
// carries out the calls. A nil field changes nothing.
type bentLive struct {
	store.Store
	alter func(*store.Change)
	act   func(*store.LiveAction)
	start func(*store.RedriveSpec)
	by    func(*store.By)
}

func (s *bentLive) Cancel(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	if s.by != nil {
		s.by(&by)
	}
	return s.Store.Cancel(ctx, by, ids)
}

func (s *bentLive) Alter(ctx context.Context, by store.By, ids []job.ID, c store.Change) ([]error, error) {
	if s.alter != nil {
		s.alter(&c)
	}
	if s.by != nil {
		s.by(&by)
	}
	return s.Store.Alter(ctx, by, ids, c)
}

func (s *bentLive) ActLive(ctx context.Context, by store.By, a store.LiveAction) (store.LiveActed, error) {
	if s.act != nil {
		s.act(&a)
	}
	return s.Store.ActLive(ctx, by, a)
}

func (s *bentLive) StartRedrive(ctx context.Context, by store.By, r store.RedriveSpec) (store.Redrive, error) {
	if s.start != nil && r.Live != nil {
		s.start(&r)
	}
	return s.Store.StartRedrive(ctx, by, r)
}

func liveMutants() []mutant {
	with := func(b bentLive) func(store.Store, *Clock) store.Store {
		return func(s store.Store, _ *Clock) store.Store {
			bent := b
			bent.Store = s
			return &bent
		}
	}
	return []mutant{
		{"leaves an altered job in its queue", "Q2_AlteredJobIsClaimedWhereItIs", with(bentLive{alter: func(c *store.Change) { c.Queue = "" }})},
		{"does not run a job now", "Q2_RunNowAndLater", with(bentLive{alter: func(c *store.Change) {
			if c.Delay != nil && *c.Delay == 0 {
				c.Delay = nil
			}
		}})},
		{"cancels a job that has moved on", "Q9_CancelOfAWaitingJobStopsNoRun", with(bentLive{by: func(by *store.By) { by.Seen = nil }})},
		{"overwrites a payload that has changed", "Q9_NoChangeOfAPayloadIsLost", with(bentLive{by: func(by *store.By) { by.Seen = nil }})},
		{"keeps the payload of an altered job", "Q9_WaitingJobsAreAltered", with(bentLive{alter: func(c *store.Change) { c.Payload = nil }})},
		{"cancels other kinds, too", "Q9_LiveJobsAreCancelledByFilter", with(bentLive{act: func(a *store.LiveAction) { a.Filter.Kind = "" }})},
		{"cancels what was enqueued since it was counted", "Q9_LiveSetStaysFrozen", with(bentLive{act: func(a *store.LiveAction) { a.Through, a.At = 1<<40, 0 }})},
		{"changes live jobs without a limit of the rate", "Q9_LiveRedriveKeepsItsRate", with(bentLive{start: func(r *store.RedriveSpec) { r.Rate = 0 }})},
		{"forgets the delay of a redrive of live jobs", "Q9_LiveRedriveKeepsItsRate", with(bentLive{start: func(r *store.RedriveSpec) { r.Change.Delay = nil }})},
	}
}
