package page

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
)

// redrivesView lists redrives.
type redrivesView struct {
	frame
	Rows []redriveRow
}

// redriveRow is a redrive with its progress in percent.
type redriveRow struct {
	redrive.Redrive
	What, Standing string
	All            int64  // its jobs without those that had left the set
	Left           string // why it has fewer jobs than its set had
	Percent        int64  // of its jobs that are retried
	Good, Bad      int64  // of its jobs that completed, and that are dead again, in percent
}

func redriveRowOf(r *redrive.Redrive) redriveRow {
	all := r.Total - words.RedriveLeft(r)
	share := func(n int64) int64 { return 100 * n / max(all, 1) }
	return redriveRow{Redrive: *r, What: words.RedriveWhat(r), Standing: words.RedriveStanding(r), All: all, Left: words.LeftSentence(r),
		Percent: share(r.Released), Good: share(r.Completed), Bad: share(r.Dead)}
}

// Counts are the numbers of the redrive in words.
func (r *redriveRow) Counts() string { return words.RedriveCounts(&r.Redrive) }

func (p *Pages) redrives(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "redrives", "Redrives")
	if err != nil {
		return err
	}
	list, err := a.Client().Redrives(c.Context())
	if err != nil {
		return err
	}
	f.Topics = "dead"
	v := redrivesView{frame: f}
	var active, stopped int64
	for i := range list {
		switch {
		case list[i].State.Active():
			active++
		case list[i].State == redrive.RedriveStopped:
			stopped++
		}
		v.Rows = append(v.Rows, redriveRowOf(&list[i]))
	}
	v.Heading = words.RedrivesFinding(active, stopped)
	v.Lead = "A redrive retries many dead jobs: a few first, then more and more while they succeed. It stops by itself when they fail again."
	return p.write(c.W, http.StatusOK, "redrives", &v)
}

// redriveView is one redrive.
type redriveView struct {
	frame
	Row    redriveRow
	Facts  words.Facts
	Shares []*stopShare
	Ended  bool // it stops no more
	Others []redrive.Redrive
	Acts   []act
}

// stopShare is a share of failures or deaths against the rule that stops the redrive.
type stopShare struct {
	redrive.RedriveStop
	Name     string
	Causes   string // the most frequent causes
	Percent  float64
	Limit    float64 // in percent; 100 means that the share never stops it
	Bounded  bool
	Verdict  string
	BarWidth float64
}

func (p *Pages) redrive(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "redrives", "Redrive "+words.Clean(c.R.PathValue("n")))
	if err != nil {
		return err
	}
	r, err := redriveOf(a, c)
	if err != nil {
		return err
	}
	f.Topics = fmt.Sprintf("redrive:%d", r.ID)
	v := redriveView{frame: f, Row: redriveRowOf(&r), Facts: words.RedriveFacts(&r, f.Now)}
	v.Heading = words.RedriveFinding(&r)
	v.Lead = v.Row.Standing + "."
	if r.Live == nil {
		for _, s := range r.StopShares() {
			v.Shares = append(v.Shares, stopShareOf(&r, s))
		}
	}
	v.Acts = redriveActs(&r, f.MayOperate)
	v.Ended = len(redriveActs(&r, true)) == 0
	if !v.Ended {
		if v.Others, err = besides(c, a.Client(), &r.Filter, r.ID); err != nil {
			return err
		}
	}
	return p.write(c.W, http.StatusOK, "redrive", &v)
}

func redriveOf(a *api.API, c *api.Call) (redrive.Redrive, error) {
	n, err := strconv.ParseInt(c.R.PathValue("n"), 10, 64)
	if err != nil {
		return redrive.Redrive{}, api.NotFound.New("There is no redrive %.20q.", c.R.PathValue("n"))
	}
	return a.Client().GetRedrive(c.Context(), n)
}

func stopShareOf(r *redrive.Redrive, stop redrive.RedriveStop) *stopShare {
	s := &stopShare{RedriveStop: stop, Name: words.StopName(stop.Rule), Causes: words.StopCauses(r, stop.Rule), Limit: 100 * stop.Limit,
		Bounded: stop.Limit < 1, Verdict: "no result yet"}
	if s.Of > 0 {
		s.Percent = 100 * float64(s.N) / float64(s.Of)
		s.Verdict = "below the limit"
		if s.Bounded && s.Percent > s.Limit {
			s.Verdict = "above the limit"
		}
	}
	s.BarWidth = min(100, s.Percent)
	return s
}

// Desc is the share and its limit in a sentence.
func (s *stopShare) Desc() string { return words.StopShare(s.RedriveStop) }

func redriveActs(r *redrive.Redrive, may bool) (acts []act) {
	switch {
	case r.State.Active():
		if r.State == redrive.RedriveCanary {
			acts = append(acts, act{Do: string(redrive.RedriveProceed), Label: "Go on without the canary"})
		}
		acts = append(acts, act{Do: string(redrive.RedrivePause), Label: "Pause", Main: true})
	case r.State == redrive.RedrivePaused, r.State == redrive.RedriveStopped:
		acts = append(acts, act{Do: string(redrive.RedriveResume), Label: "Resume", Main: true})
	default:
		return nil
	}
	acts = append(acts, act{Do: string(redrive.RedriveCancel), Label: "Cancel the rest"})
	if !may {
		for i := range acts {
			acts[i].Why, acts[i].Main = "Your role may look, not act; it needs the role operate.", false
		}
	}
	return acts
}

// controlRedrive returns the handler of a button of a redrive.
func (p *Pages) controlRedrive(do redrive.RedriveOp) func(*api.API, *api.Call) error {
	return func(a *api.API, c *api.Call) error {
		in, err := form(c)
		if err != nil {
			return err
		}
		r, err := redriveOf(a, c)
		if err != nil {
			return err
		}
		return p.once(a, c, in, "/ui/redrives/"+c.R.PathValue("n"), func() (done, error) {
			by := c.By(in.Get("reason"))
			if was := in.Get("state"); was != "" {
				if was != string(r.State) {
					return done{}, api.RedriveState.New("redrive %d is %s, not %s", r.ID, r.State, words.Clean(was))
				}
				by.Seen = &redrive.Seen{Redrive: &r.State}
			}
			r, err := a.Client().ControlRedrive(c.Context(), by, r.ID, do)
			return done{Text: words.RedriveControlled(&r, do)}, err
		})
	}
}
