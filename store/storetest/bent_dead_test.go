package storetest

import (
	"context"
	"crypto/rand"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// bentDead is a broken store: a correct store with changed arguments or answers for some calls
// about dead letters, causes, redrives, retention, schedules or processes. Each field changes the
// arguments or the answer of one call; a nil field changes nothing.
type bentDead struct {
	store.Store
	clock    *Clock
	act      func(*store.Action)
	list     func(*store.DeadFilter)
	redrive  func(*store.RedriveSpec)
	keep     func(*store.Retention)
	slot     func(c *Clock, slot *job.Micros)
	cron     func(expression *string)
	schedule func(paused *bool)
	original func(*store.Original)
	present  func(*store.Process)
	sign     func(*store.Orders)
	order    func(quiet *bool)
	group    func(*store.GroupChange)
	merge    func(set *string)
	note     func(*store.Note)
	request  func(*store.Request)
	answer   func(status *int)
}

func (s *bentDead) Act(ctx context.Context, by store.By, a store.Action) (store.Acted, error) {
	if s.act != nil {
		if a.Filter != nil {
			f := *a.Filter
			a.Filter = &f
		}
		s.act(&a)
	}
	return s.Store.Act(ctx, by, a)
}

func (s *bentDead) DeadLetters(ctx context.Context, f store.DeadFilter, p store.DeadPaging) (store.DeadPage, error) {
	if s.list != nil {
		s.list(&f)
	}
	return s.Store.DeadLetters(ctx, f, p)
}

func (s *bentDead) SetGroup(ctx context.Context, by store.By, c store.GroupChange) (store.Group, error) {
	if s.group != nil {
		s.group(&c)
	}
	return s.Store.SetGroup(ctx, by, c)
}

func (s *bentDead) MergeGroups(ctx context.Context, by store.By, set string, groups []string) (int, error) {
	if s.merge != nil {
		s.merge(&set)
	}
	return s.Store.MergeGroups(ctx, by, set, groups)
}

func (s *bentDead) AddNote(ctx context.Context, by store.By, n store.Note) (store.Note, error) {
	if s.note != nil {
		s.note(&n)
	}
	return s.Store.AddNote(ctx, by, n)
}

func (s *bentDead) BeginRequest(ctx context.Context, r store.Request) (store.Request, bool, error) {
	if s.request != nil {
		s.request(&r)
	}
	return s.Store.BeginRequest(ctx, r)
}

func (s *bentDead) EndRequest(ctx context.Context, scope, key string, status int, body []byte) error {
	if s.answer != nil {
		s.answer(&status)
	}
	return s.Store.EndRequest(ctx, scope, key, status, body)
}

func (s *bentDead) StartRedrive(ctx context.Context, by store.By, r store.RedriveSpec) (store.Redrive, error) {
	if s.redrive != nil {
		s.redrive(&r)
	}
	return s.Store.StartRedrive(ctx, by, r)
}

func (s *bentDead) Sweep(ctx context.Context, r store.Retention, limit int) (store.Swept, error) {
	if s.keep != nil {
		s.keep(&r)
	}
	return s.Store.Sweep(ctx, r, limit)
}

func (s *bentDead) SetSchedule(ctx context.Context, by store.By, name string, paused bool) (store.CronSlot, error) {
	if s.schedule != nil {
		s.schedule(&paused)
	}
	return s.Store.SetSchedule(ctx, by, name, paused)
}

func (s *bentDead) Fire(ctx context.Context, name, expression string, slot job.Micros, jobs []job.New) (store.Fired, error) {
	if s.slot != nil {
		s.slot(s.clock, &slot)
	}
	if s.cron != nil {
		s.cron(&expression)
	}
	return s.Store.Fire(ctx, name, expression, slot, jobs)
}

func (s *bentDead) Original(ctx context.Context, id job.ID) (store.Original, error) {
	o, err := s.Store.Original(ctx, id)
	if s.original != nil && err == nil {
		s.original(&o)
	}
	return o, err
}

func (s *bentDead) Present(ctx context.Context, p store.Process) (store.Orders, error) {
	if s.present != nil {
		s.present(&p)
	}
	orders, err := s.Store.Present(ctx, p)
	if s.sign != nil {
		s.sign(&orders)
	}
	return orders, err
}

func (s *bentDead) OrderProcess(ctx context.Context, by store.By, name string, quiet bool) error {
	if s.order != nil {
		s.order(&quiet)
	}
	return s.Store.OrderProcess(ctx, by, name, quiet)
}

func deadMutants() []mutant {
	with := func(b bentDead) func(store.Store, *Clock) store.Store {
		return func(s store.Store, c *Clock) store.Store {
			bent := b
			bent.Store, bent.clock = s, c
			return &bent
		}
	}
	return []mutant{
		{"does not pause a schedule", "Q13_PausedScheduleIsNotFired", with(bentDead{schedule: func(paused *bool) { *paused = false }})},
		{"acts on other classes, too", "D3_FilterEquals", with(bentDead{act: func(a *store.Action) {
			if a.Filter != nil {
				a.Filter.Class = ""
			}
		}})},
		{"lists one group of several", "D6_FiltersTakeSeveralGroups", with(bentDead{list: func(f *store.DeadFilter) {
			if len(f.Groups) > 0 {
				f.Groups = f.Groups[:1]
			}
		}})},
		{"mutes one group of several", "D6_SeveralGroupsAreMuted", with(bentDead{act: func(a *store.Action) {
			if a.Filter != nil && len(a.Filter.Groups) > 0 {
				a.Filter.Groups = a.Filter.Groups[:1]
			}
		}})},
		{"lists other groups, too", "D3_FilterEquals", with(bentDead{list: func(f *store.DeadFilter) { f.Group = "" }})},
		{"lists dead letters of all correlation ids", "D3_EachFilterAloneSelects", with(bentDead{list: func(f *store.DeadFilter) { f.Correlation = "" }})},
		{"lists dead letters with any attributes", "D3_EachFilterAloneSelects", with(bentDead{list: func(f *store.DeadFilter) { f.Attr = store.Attr{} }})},
		{"acts on dead letters of all batches", "D3_FilterEquals", with(bentDead{act: func(a *store.Action) {
			if a.Filter != nil {
				a.Filter.Batch = 0
			}
		}})},
		{"lists no retried dead letters by attribute", "D3_RetriedAreFoundByTheirJobs", with(bentDead{list: func(f *store.DeadFilter) {
			if f.Attr.Name != "" && len(f.Statuses) == 0 {
				f.Statuses = []job.Status{job.Pending, job.Resolved, job.Ignored}
			}
		}})},
		{"acts on what died since it was counted", "D3_FrozenSetStaysFrozen", with(bentDead{act: func(a *store.Action) {
			if a.Filter != nil {
				a.Through = 1 << 40
			}
		}})},
		{"lets later deaths join a redrive", "D7_LaterDeathsDoNotJoin", with(bentDead{redrive: func(r *store.RedriveSpec) { r.Through++ }})},
		{"retries dead letters with any attributes", "D7_RedriveKeepsItsFilter", with(bentDead{redrive: func(r *store.RedriveSpec) { r.Filter.Attr = store.Attr{} }})},
		{"loses the patch of a redrive", "D5_RedrivePatchesPayloads", with(bentDead{redrive: func(r *store.RedriveSpec) { r.Patch, r.PayloadMax = nil, 0 }})},
		{"does not limit patched payloads", "D5_RedrivePatchesPayloads", with(bentDead{redrive: func(r *store.RedriveSpec) { r.PayloadMax = 0 }})},
		{"does not wait for canaries", "D7_CanaryIsSpreadAndWaits", with(bentDead{redrive: func(r *store.RedriveSpec) { r.Canary = -1 }})},
		{"starts a redrive again", "D7_AKeyStartsOneRedrive", with(bentDead{redrive: func(r *store.RedriveSpec) { r.Key = "" }})},
		{"never stops a redrive", "D7_BadCanaryStopsTheRest", with(bentDead{redrive: func(r *store.RedriveSpec) { *r = r.WithoutStop() }})},
		{"ignores for ever", "D6_MutedUntilATime", with(bentDead{act: func(a *store.Action) { a.Until, a.Count = 0, 0 }})},
		{"loses what the job was", "D5_OriginalIsOfTheFirstChange", with(bentDead{original: func(o *store.Original) { o.Payload = nil }})},
		{"drops pending dead letters", "Q6_PendingNeverVanishes", with(bentDead{keep: func(r *store.Retention) { r.DropPending = true }})},
		{"never drops failures without a job", "Q6_FailuresGoAtTheirTime", with(bentDead{keep: func(r *store.Retention) { r.Failures = 0 }})},
		{"fires a slot for each scheduler", "Q13_SlotIsFiredOnce", with(bentDead{slot: func(c *Clock, slot *job.Micros) { *slot = min(job.At(c.Now()), *slot+job.Micros(1_000_000)) }})},
		{"loses the expression of a slot", "Q13_ExpressionIsStoredWithItsSlot", with(bentDead{cron: func(expression *string) { *expression = "@hourly" }})},
		{"takes each sign of life for a new process", "Q9_SignsOfLifeWriteNoEvent", with(bentDead{present: func(p *store.Process) { p.Instance += rand.Text() }})},
		{"tells no process of the leases of others", "Q3_SignsOfLifeTellTheNextExpiry", with(bentDead{sign: func(o *store.Orders) { o.NextExpiry = store.Never }})},
		{"keeps processes that have left", "Q9_SignsOfLifeWriteNoEvent", with(bentDead{present: func(p *store.Process) { p.Left = false }})},
		{"forgets who works on a cause", "D6_CauseHasANameAndAnAssignee", with(bentDead{group: func(c *store.GroupChange) { c.Assignee = nil }})},
		{"does not mark causes as resolved", "D6_ResolvedCauseRegresses", with(bentDead{group: func(c *store.GroupChange) { c.Resolved = nil }})},
		{"puts groups into another set", "D6_MergedGroupsAreASet", with(bentDead{merge: func(set *string) {
			if *set != "" {
				*set += "2"
			}
		}})},
		{"keeps feedback as notes", "D8_FeedbackIsKeptWithItsJob", with(bentDead{note: func(n *store.Note) { n.What = store.PlainNote }})},
		{"takes feedback of a handler for that of a person", "Q11_HandlerLeavesFeedback", with(bentDead{note: func(n *store.Note) { n.Run = 0 }})},
		{"carries out a request again", "I1_RequestIsBegunOnce", with(bentDead{request: func(r *store.Request) { r.Scope += rand.Text() }})},
		{"does not compare requests", "I1_OtherRequestIsRefused", with(bentDead{request: func(r *store.Request) { r.Digest = []byte("same") }})},
		{"forgets the status of an answer", "I1_RequestHasItsFirstAnswer", with(bentDead{answer: func(status *int) { *status = 200 }})},
		{"never orders a process to be quiet", "Q7_QuietOrderReachesTheProcess", with(bentDead{order: func(quiet *bool) { *quiet = false }})},
	}
}
