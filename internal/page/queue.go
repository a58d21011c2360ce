package page

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
)

// queueView is one queue with its settings.
type queueView struct {
	frame
	Queue api.QueueOut
	Was   string // the settings that the page shows
	Acts  []act
	Audit []redrive.AuditEntry
	In    url.Values
	Wrong string
}

// AuditRows returns the part of the page with the actions on the queue.
func (v *queueView) AuditRows() auditRows { return auditRows{Base: v.Base, Now: v.Now, Rows: v.Audit} }

// Value returns what was typed into a field, otherwise the present setting. A setting of 0 is empty.
func (v *queueView) Value(name string) string {
	if v.In.Has(name) {
		return v.In.Get(name)
	}
	switch n := map[string]int{"workers": v.Queue.Workers, "limit": v.Queue.Limit}[name]; {
	case name == "rate":
		return v.Queue.Rate
	case n > 0:
		return strconv.Itoa(n)
	}
	return ""
}

// settingsOf returns the settings of a queue in one text, so that a form of an older page is recognised.
func settingsOf(q *api.QueueOut) string {
	return fmt.Sprintf("%s, %d workers, limit %d, rate %s", q.Mode, q.Workers, q.Limit, q.Rate)
}

func (p *Pages) queue(a *api.API, c *api.Call) error {
	return p.writeQueue(a, c, http.StatusOK, nil, "")
}

// writeQueue writes the page of a queue. in is what was typed, and wrong why it was refused.
func (p *Pages) writeQueue(a *api.API, c *api.Call, status int, in url.Values, wrong string) error {
	name := c.R.PathValue("name")
	f, err := p.frame(a, c, "queues", "Queue "+words.Clean(name))
	if err != nil {
		return err
	}
	q, err := queueOf(a, c)
	if err != nil {
		return err
	}
	f.besideButtons()
	f.Topics = "all"
	f.Path = f.Base + "/ui/queues/" + url.PathEscape(name)
	v := queueView{frame: f, Queue: q, Was: settingsOf(&q), In: in, Wrong: wrong}
	v.Heading = "Queue " + words.Clean(name)
	v.Lead = map[string]string{
		redrive.QueueOpen.String(): "It takes jobs and runs them.", redrive.QueuePaused.String(): "It takes jobs and starts none.",
		redrive.QueueDraining.String(): "It runs its jobs and takes no new ones.",
	}[q.Mode]
	for _, mode := range queueModes {
		if mode.mode.String() != q.Mode {
			v.Acts = append(v.Acts, act{Do: mode.do, Label: mode.label})
		}
	}
	v.Acts = forbid(v.Acts, f.MayOperate)
	audit, err := a.Client().Audit(c.Context(), redrive.AuditFilter{Target: name, Limit: happenedMax})
	if err != nil {
		return err
	}
	v.Audit = audit.Entries
	return p.write(c.W, status, "queue", &v)
}

// queueOf returns the queue of the path as it is now.
func queueOf(a *api.API, c *api.Call) (api.QueueOut, error) {
	list, err := a.QueuesNow(c.Context())
	i := slices.IndexFunc(list, func(q api.QueueOut) bool { return q.Name == c.R.PathValue("name") })
	if err == nil && i < 0 {
		err = api.NotFound.New("There is no queue %.60q: no job has named it, and the configuration does not.", c.R.PathValue("name"))
	}
	if err != nil {
		return api.QueueOut{}, err
	}
	return list[i], nil
}

// queueMode is a mode of a queue and the action that sets it.
type queueMode struct {
	do, label string
	mode      redrive.QueueMode
}

var queueModes = [...]queueMode{{"resume", "Resume", redrive.QueueOpen}, {"pause", "Pause", redrive.QueuePaused}, {"drain", "Drain", redrive.QueueDraining}}

// actOnQueue pauses, resumes or drains a queue, or changes its settings.
func (p *Pages) actOnQueue(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	name, do := c.R.PathValue("name"), c.R.PathValue("act")
	back := local(in.Get("back"))
	if back == "/ui/" {
		back = "/ui/queues/" + url.PathEscape(name)
	}
	var refused *api.Problem
	err = p.once(a, c, in, back, func() (done, error) {
		d, err := p.doOnQueue(a, c, name, do, in)
		if problem := api.ProblemOf(err); err != nil && do == "set" && problem.Status < http.StatusInternalServerError && problem.Kind() != api.NotFound {
			refused, err = problem, errTyped
		}
		return d, err
	})
	if errors.Is(err, errTyped) {
		return p.writeQueue(a, c, refused.Status, in, words.Clean(refused.Detail))
	}
	return err
}

func (p *Pages) doOnQueue(a *api.API, c *api.Call, name, do string, in url.Values) (done, error) {
	by := c.By(in.Get("reason"))
	if err := api.CheckReason(by.Reason); err != nil {
		return done{}, err
	}
	now, err := queueOf(a, c)
	if err != nil {
		return done{}, err
	}
	if was := in.Get("was"); was != "" && was != settingsOf(&now) {
		return done{}, api.StateMoved.New("the queue has changed since the page was loaded; it is now: %s", settingsOf(&now))
	}
	if do == "set" {
		change, err := queueChange(in)
		if err != nil {
			return done{}, err
		}
		change.Name = name
		_, err = a.Client().SetQueue(c.Context(), by, change)
		return done{Text: fmt.Sprintf("The settings of queue %s are changed. They reach all processes within a second.", words.Clean(name)),
			Undo: &undo{Path: "/ui/queues/" + url.PathEscape(name) + "/set", Fields: map[string]string{
				"workers": strconv.Itoa(now.Workers), "limit": strconv.Itoa(now.Limit), "rate": now.Rate, "reason": "undo"}}}, err
	}
	i := slices.IndexFunc(queueModes[:], func(m queueMode) bool { return m.do == do })
	if i < 0 {
		return done{}, api.NotFound.New("A queue cannot %.40q.", do)
	}
	mode := queueModes[i].mode
	if now.Mode == mode.String() {
		return done{}, api.StateMoved.New("queue %s is %s already", name, mode)
	}
	d := done{Text: fmt.Sprintf("Queue %s is %s now.", words.Clean(name), mode)}
	for _, m := range queueModes {
		if m.mode.String() == now.Mode {
			d.Undo = &undo{Path: "/ui/queues/" + url.PathEscape(name) + "/" + m.do, Fields: map[string]string{"reason": "undo", "back": in.Get("back")}}
		}
	}
	_, err = a.Client().SetQueue(c.Context(), by, redrive.QueueChange{Name: name, Mode: &mode})
	return d, err
}

// queueChange reads the settings of a form. An empty field removes a setting.
func queueChange(in url.Values) (redrive.QueueChange, error) {
	change := redrive.QueueChange{}
	for _, f := range [...]struct {
		name, label string
		to          **int
	}{{"workers", "The number of workers", &change.Workers}, {"limit", "The limit", &change.Limit}} {
		n := 0
		if text := strings.TrimSpace(in.Get(f.name)); text != "" {
			var err error
			if n, err = strconv.Atoi(text); err != nil || n < 0 {
				return change, api.InvalidField.New("%s must be a whole number, 0 or more; empty removes the setting.", f.label)
			}
		}
		*f.to = &n
	}
	rate, err := api.ParseRate(strings.TrimSpace(in.Get("rate")))
	change.Rate = &rate
	return change, err
}

// actOnWorker makes a process quiet, or takes the order back.
func (p *Pages) actOnWorker(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	name, do := c.R.PathValue("name"), c.R.PathValue("act")
	if do != "quiet" && do != "resume" {
		return api.NotFound.New("A worker cannot %.40q.", do)
	}
	return p.once(a, c, in, "/ui/workers", func() (done, error) {
		d, back := done{Text: words.Clean(name) + " claims jobs again."}, "quiet"
		if do == "quiet" {
			d.Text, back = words.Clean(name)+" claims no more jobs, and finishes those it has.", "resume"
		}
		d.Undo = &undo{Path: "/ui/workers/" + url.PathEscape(name) + "/" + back, Fields: map[string]string{"reason": "undo"}}
		return d, a.Client().OrderProcess(c.Context(), c.By(in.Get("reason")), name, do == "quiet")
	})
}
