package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Exchange implements store.Worker. Outcomes and claims are transactions of their
// own, at the same time where neither can change what the other does.
func (s *Store) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	if err := x.Validate(); err != nil {
		return store.Exchanged{}, err
	}
	if err := s.storeWantedTerms(ctx, x.Want); err != nil {
		return store.Exchanged{}, err
	}
	switch {
	case len(x.Want) == 0:
		answers, _, err := s.settleAll(ctx, x.Settle)
		return answered(store.Exchanged{NextDue: store.Never}, answers), err
	case len(x.Settle) == 0:
		out, _, err := s.claimAll(ctx, &x)
		if err == nil {
			s.hot.claiming.see(nil)
		}
		return out, err
	}
	known, err := s.lanesKnown(ctx)
	if err != nil {
		return store.Exchanged{}, err
	}
	if s.dependent(&x, known) {
		return s.inTurn(ctx, &x)
	}
	return s.atOnce(ctx, &x, known)
}

// dependent reports whether the outcomes may change what can be claimed now: by
// what is ready at once, or by the room that they make under a limit. Of a job that
// is due later only the time counts, which is known; a want says where.
func (s *Store) dependent(x *store.Exchange, known *knownLanes) bool {
	now := s.clock.Now()
	for i := range x.Settle {
		o := &x.Settle[i]
		if !o.To.Ready() {
			continue
		}
		r := s.hot.runs.Recall(o)
		if r == nil || !r.Plain() || o.Queue != "" && o.Queue != r.Queue() || max(now.Add(o.Delay), o.NotBefore) <= now {
			return true
		}
	}
	wanted := make(map[string]bool, len(x.Want))
	for i := range x.Want {
		if wanted[x.Want[i].Queue] {
			return true
		}
		wanted[x.Want[i].Queue] = true
	}
	return known.catalog.Limited(x.Want)
}

func (s *Store) inTurn(ctx context.Context, x *store.Exchange) (store.Exchanged, error) {
	answers, _, err := s.settleAll(ctx, x.Settle)
	if err != nil {
		return store.Exchanged{}, err
	}
	out, _, err := s.claimAll(ctx, x)
	return s.together(out, answers, err), nil
}

func (s *Store) atOnce(ctx context.Context, x *store.Exchange, known *knownLanes) (store.Exchanged, error) {
	var answers []error
	var notice claims.Notice
	var settleErr error
	var done sync.WaitGroup
	done.Go(func() { answers, notice, settleErr = s.settleAll(ctx, x.Settle) })
	out, claimed, claimErr := s.claimAll(ctx, x)
	done.Wait()
	switch {
	case settleErr != nil && !claimed && len(out.Expired) == 0:
		return store.Exchanged{}, settleErr
	case settleErr != nil: // what was claimed must not be lost with it, nor what has died
		answers = make([]error, len(x.Settle))
		for i := range answers {
			answers[i] = settleErr
		}
	case claimErr == nil:
		out.NextDue = min(out.NextDue, s.postponed(x, &out, known, notice))
	}
	return s.together(out, answers, claimErr), nil
}

// postponed returns how long until the first of the jobs is due that the outcomes
// have put back and a want could take.
func (s *Store) postponed(x *store.Exchange, out *store.Exchanged, known *knownLanes, notice claims.Notice) time.Duration {
	next, now := store.Never, s.clock.Now()
	for place, at := range notice.Ready {
		queue, kind, open := known.catalog.Lane(place.Lane)
		if !open {
			continue
		}
		for i := range x.Want {
			w := &x.Want[i]
			k := slices.IndexFunc(w.Kinds, func(k store.KindWant) bool { return k.Kind == kind })
			if w.Queue != queue || k < 0 {
				continue
			}
			all, ofKind := w.Max, w.Kinds[k].Max
			for c := range out.Claims {
				if out.Claims[c].Queue == queue {
					all--
					if out.Claims[c].Kind == kind {
						ofKind--
					}
				}
			}
			if all > 0 && ofKind > 0 {
				next = min(next, max(0, at.Sub(now)))
			}
		}
	}
	return next
}

// together returns the answer of an exchange whose outcomes have their answers. An error of the
// claim is not returned: the engine asks again at once, and then it gets the error.
func (s *Store) together(out store.Exchanged, answers []error, claimErr error) store.Exchanged {
	if !errors.Is(claimErr, pg.ErrOvertaken) { // this is expected contention; the next call clears it
		s.hot.claiming.see(claimErr)
	}
	if claimErr != nil {
		out = store.Exchanged{NextDue: store.Never, Full: true}
	}
	return answered(out, answers)
}

// claimAll is the half of an exchange that claims. It reports whether it has
// claimed anything.
func (s *Store) claimAll(ctx context.Context, x *store.Exchange) (out store.Exchanged, claimed bool, err error) {
	if err := s.resolve(ctx); err != nil {
		return store.Exchanged{}, false, err
	}
	var src *source
	err = s.fast(ctx, func(t *fastTxn) (err error) {
		s.reopenCursors(src) // it has failed, and is tried again
		out = store.Exchanged{NextDue: store.Never}
		src, err = s.claimIn(t, x, &out)
		crashpoint.Hit(crashpoint.BeforeClaimCommit)
		return err
	})
	if errors.Is(err, store.ErrUnknown) {
		pid := uint32(0)
		if !s.unnamed.Load() { // a pooler gives its connections to others
			pid = src.t.Conn.PID()
		}
		s.hot.unconfirmed.Add(src.claimed, x.Holder, src.t.Now(), pid)
	}
	if err != nil {
		s.reopenCursors(src)
		return store.Exchanged{}, false, err
	}
	if len(out.Claims) > 0 {
		crashpoint.Hit(crashpoint.AfterClaimCommit)
		s.hot.runs.Remember(src.claimed)
		s.hot.cursors.Raise(src.taken(out.Claims))
	}
	if len(src.found) > 0 {
		s.hot.cursors.Notify(src.left())
	}
	if places := s.hot.cursors.WantScan(s.clock.local(), src.seen); places != nil {
		s.hot.scans <- places // there is room: no other scan is wanted
	}
	return out, len(out.Claims) > 0, nil
}

// reopenCursors lowers the cursors to the places from which a failed claim has read: while it held
// jobs, another claim may have moved the cursors past them. If reading took too long, the cursors
// have been set already.
func (s *Store) reopenCursors(src *source) {
	if src != nil && !src.slow {
		s.hot.cursors.Notify(src.readFrom())
	}
}

// claimIn claims in a transaction. What it has read comes with an error, too.
func (s *Store) claimIn(t *fastTxn, x *store.Exchange, out *store.Exchanged) (*source, error) {
	src := &source{s: s, t: t, x: x, out: out, found: make(map[job.ID]*found), look: s.hot.cursors.ScansInline()}
	if t.known.catalog.Limited(x.Want) {
		if err := s.limit(t); err != nil {
			return src, err
		}
	}
	if err := t.ClaimAll(x, out, src); err != nil {
		return src, err
	}
	if !t.begun { // there is no lane to look in, as far as is known
		if err := t.send(); err != nil {
			return src, err
		}
	}
	return src, src.write(src.behindOthers()...)
}

// limit waits until nobody else claims what is limited over all processes, and
// reads how much of it there is.
func (s *Store) limit(t *fastTxn) error {
	if err := t.send(); err != nil {
		return err
	}
	if err := s.lock(t.Session, s.lockKey("limits")); err != nil {
		return err
	}
	cat, err := sqlstore.ReadCatalog(t.Session)
	if err != nil {
		return err
	}
	t.Reset(t.Now(), cat)
	return nil
}
