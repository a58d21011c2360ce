package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/jsonpatch"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

// RedriveIn starts a redrive: a bulk retry that begins with a few jobs and stops by itself if too many
// of them fail again.
type RedriveIn struct {
	Filter *DeadFilterIn `json:"filter"`
	// Through is from a preview of the action retry: jobs that have died later are not retried.
	// Without it, the set is frozen when the redrive starts.
	Through int64 `json:"through,omitempty" jsonschema:"minimum=0"`
	// Canary is the number of jobs that are retried first, 0 to 1,000; default 10. 0 means no canary.
	Canary *int `json:"canary,omitempty" jsonschema:"minimum=0,maximum=1000"`
	// Rate is the largest number of retried jobs per second; 0 means no limit.
	Rate int `json:"rate,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	// StopShare stops the redrive when more than this share of first attempts fails again by the same cause: above
	// 0, at most 1; default 0.2. 1 means never.
	StopShare *float64 `json:"stop_share,omitempty" jsonschema:"maximum=1"`
	// StopOther stops the redrive when more than this share of first attempts fails by another cause: above 0, at most
	// 1; default 0.5. 1 means never.
	StopOther *float64 `json:"stop_other,omitempty" jsonschema:"maximum=1"`
	// StopDead stops the redrive when more than this share of the jobs that have ended is dead: above 0, at most 1;
	// default 0.2. 1 means never.
	StopDead *float64 `json:"stop_dead,omitempty" jsonschema:"maximum=1"`
	// Change is what the retry changes in the jobs. A payload is changed by a patch only.
	Change ChangeIn `json:"change,omitzero"`
	// Note is the reason, for the dead letters and the audit log.
	Note string `json:"note,omitempty" jsonschema:"maxLength=4096"`
}

// RedriveOut is a redrive, its progress and the possible next steps.
type RedriveOut struct {
	wire.Redrive
	Standing string `json:"standing"` // the progress of the redrive, as a sentence
	// Shares are the shares of failed jobs that can stop the redrive. They are counted from the time
	// at which a person last resumed it.
	Shares []redrive.RedriveStop `json:"shares,omitempty"`
	Next   []wire.Step           `json:"next"` // what a person can do next
}

// RedriveOuts is a list of redrives, the newest first, at most 200.
type RedriveOuts struct {
	Items []wire.Redrive `json:"items"`
}

// RedriveExpect says in which state a redrive must be. If it is in another one, nothing is done.
type RedriveExpect struct {
	State *redrive.RedriveState `json:"state,omitempty"`
}

// RedriveActIn is an action on a redrive.
type RedriveActIn struct {
	// Note is the reason, for the audit log.
	Note   string         `json:"note,omitempty" jsonschema:"maxLength=4096"`
	Expect *RedriveExpect `json:"expect,omitempty"`
}

func (a *API) redriveOut(r *redrive.Redrive) RedriveOut {
	out := RedriveOut{Redrive: wire.RedriveOf(r), Standing: words.RedriveStanding(r), Next: wire.StepsOf(words.RedriveSteps(r), a.way)}
	if r.Live == nil {
		out.Shares = r.StopShares()
	}
	return out
}

func (a *API) listRedrives(c *Call) error {
	list, err := a.client.Redrives(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, RedriveOuts{Items: wire.RedrivesOf(list).Redrives})
}

// redriveFor returns the redrive of the path.
func (a *API) redriveFor(c *Call) (redrive.Redrive, error) {
	n, err := strconv.ParseInt(c.R.PathValue("n"), 10, 64)
	if err != nil || n < 1 {
		return redrive.Redrive{}, NotFound.New("redrive %.40q: there is no such redrive", c.R.PathValue("n"))
	}
	r, err := a.client.GetRedrive(c.Context(), n)
	if errors.Is(err, redrive.ErrNotFound) {
		return r, NotFound.New("redrive %d: there is no such redrive", n)
	}
	return r, err
}

func (a *API) showRedrive(c *Call) error {
	r, err := a.redriveFor(c)
	if err != nil {
		return err
	}
	out := a.redriveOut(&r)
	if c.unchanged(versionOf(out)) {
		return nil
	}
	return c.JSON(http.StatusOK, out)
}

// startRedrive starts a redrive.
func (a *API) startRedrive(c *Call) error {
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	body, err := c.Body()
	if err != nil {
		return err
	}
	var in RedriveIn
	if wrong := strictjson.Decode(body, &in, ""); len(wrong) > 0 {
		return bodyProblem(wrong)
	}
	spec, err := a.redriveSpec(&in)
	if err != nil {
		return err
	}
	if key != "" {
		scope := sha256.Sum256([]byte(c.Caller.Owner + "\x00" + c.Caller.Key + "\x00" + key))
		digest := sha256.Sum256(body)
		name := hex.EncodeToString(scope[:])
		spec.Key = name + ":" + hex.EncodeToString(digest[:])
		if done, err := a.startedBefore(c, name, spec.Key); done || err != nil {
			return err
		}
	}
	if spec.Through != 0 {
		found, err := a.client.Preview(c.Context(), redrive.Action{Do: redrive.ActRetry, Filter: &spec.Filter, Change: spec.Change, Through: spec.Through})
		switch {
		case err != nil:
			return err
		case found.Done == 0:
			return NotFound.New("The set has no dead letter that can be retried any more.")
		}
		spec.Total = found.Done
	}
	r, err := a.client.Redrive(c.Context(), c.By(in.Note), spec)
	if err != nil {
		return err
	}
	c.W.Header().Set("Location", fmt.Sprintf("%s/api/redrives/%d", a.o.Base, r.ID))
	return c.JSON(http.StatusCreated, a.redriveOut(&r))
}

// startedBefore answers with the redrive that an earlier request with the same key has started.
func (a *API) startedBefore(c *Call, name, key string) (done bool, err error) {
	list, err := a.client.Redrives(c.Context())
	if err != nil {
		return false, err
	}
	for i := range list {
		r := &list[i]
		switch {
		case r.Key == key:
			c.W.Header().Set("Idempotent-Replayed", "true")
			return true, c.JSON(http.StatusOK, a.redriveOut(r))
		case strings.HasPrefix(r.Key, name+":"):
			return true, KeyReused.Mistaken(Mistake{Header: headerKey, Detail: fmt.Sprintf("belongs to redrive %d, which another body has started; use a new key", r.ID)})
		}
	}
	return false, nil
}

// redriveSpec reads the body of a request that starts a redrive.
func (a *API) redriveSpec(in *RedriveIn) (redrive.RedriveSpec, error) {
	spec := redrive.RedriveSpec{Through: in.Through, Rate: in.Rate, Patch: in.Change.Patch}
	if err := checkReason(in.Note); err != nil {
		return spec, err
	}
	var err error
	if spec.Filter, err = a.bodyFilter(in.Filter); err != nil {
		return spec, err
	}
	var wrong []Mistake
	add := func(field, detail string, bound any) {
		wrong = append(wrong, Mistake{Pointer: "/" + field, Detail: detail, Bound: bound})
	}
	if in.Through < 0 {
		add("through", "must not be negative", 0)
	}
	if in.Canary != nil {
		if spec.Canary = *in.Canary; *in.Canary < 0 || *in.Canary > redrive.RedriveCanaryMax {
			add("canary", fmt.Sprintf("must be 0 to %d", redrive.RedriveCanaryMax), redrive.RedriveCanaryMax)
		}
		if *in.Canary == 0 {
			spec.Canary = -1
		}
	}
	if in.Rate < 0 || in.Rate > redrive.RedriveRateMax {
		add("rate", fmt.Sprintf("must be 1 to %d jobs per second, or 0 for no limit", redrive.RedriveRateMax), redrive.RedriveRateMax)
	}
	for _, share := range []struct {
		field string
		in    *float64
		to    *float64
	}{{"stop_share", in.StopShare, &spec.StopShare}, {"stop_other", in.StopOther, &spec.StopOther}, {"stop_dead", in.StopDead, &spec.StopDead}} {
		if share.in == nil {
			continue
		}
		if *share.to = *share.in; !(*share.in > 0 && *share.in <= 1) {
			add(share.field, "must be above 0 and at most 1", 1)
		}
	}
	if in.Change.Payload != nil {
		add("change/payload", "many jobs cannot get one payload; patch changes the payload of each job", nil)
	}
	if in.Change.DelayMS != nil && spec.Canary >= 0 {
		add("change/delay_ms", "is allowed only with canary 0, because the jobs of a canary must be due at once", nil)
	}
	if in.Change.Patch != nil {
		if _, err := jsonpatch.Parse(in.Change.Patch); err != nil {
			add("change/patch", err.Error(), nil)
		}
	}
	if len(wrong) > 0 {
		return spec, InvalidField.Mistaken(wrong...)
	}
	spec.Change, err = a.deadChange(&in.Change)
	return spec, err
}

// controlRedrive returns the handler of an action on a redrive.
func controlRedrive(do redrive.RedriveOp) func(*API, *Call) error {
	return func(a *API, c *Call) error {
		var in RedriveActIn
		if err := c.Read(&in, true); err != nil {
			return err
		}
		if err := checkReason(in.Note); err != nil {
			return err
		}
		r, err := a.redriveFor(c)
		if err != nil {
			return err
		}
		if !c.matches(versionOf(a.redriveOut(&r))) {
			return redriveMoved(PreconditionFailed, &r, "it is not in the version of If-Match any more: it is %s", r.State)
		}
		by := c.By(in.Note)
		if e := in.Expect; e != nil && e.State != nil {
			if *e.State != r.State {
				return redriveMoved(StateMoved, &r, "it is %s, not %.40s", r.State, *e.State)
			}
			by.Seen = &redrive.Seen{Redrive: e.State}
		}
		if match := c.R.Header.Get("If-Match"); match != "" && match != "*" {
			by.Seen = &redrive.Seen{Redrive: &r.State}
		}
		now, err := a.client.ControlRedrive(c.Context(), by, r.ID, do)
		if errors.Is(err, redrive.ErrConflict) {
			if r, rerr := a.client.GetRedrive(c.Context(), r.ID); rerr == nil {
				p := redriveMoved(c.movedKind(err, RedriveState), &r, "%s", strings.TrimPrefix(plain(err), fmt.Sprintf("redrive %d: ", r.ID)))
				p.cause = err
				return p
			}
		}
		if err != nil {
			return err
		}
		out := a.redriveOut(&now)
		c.W.Header().Set("Etag", versionOf(out))
		return c.JSON(http.StatusOK, out)
	}
}

// redriveMoved returns a problem about a redrive, with its state.
func redriveMoved(k *Kind, r *redrive.Redrive, format string, args ...any) *Problem {
	p := k.New("redrive %d: "+format, append([]any{r.ID}, args...)...)
	p.Redrive = r.State
	return p
}
