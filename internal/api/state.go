package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// kept caches an answer of the store for ReadEvery, so that many requests need only one read.
type kept[T any] struct {
	mu    sync.Mutex
	at    time.Time
	took  time.Duration // of the last read by slow
	value T
}

// slow is like get, but keeps an answer whose read takes long for longer: the reads take a small share
// of the time.
func (k *kept[T]) slow(now func() time.Time, read func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	begin := now()
	if age := begin.Sub(k.at); age >= 0 && age < min(max(ReadEvery, slowShare*k.took), slowMost) && !k.at.IsZero() {
		return k.value, nil
	}
	value, err := read()
	if err == nil {
		k.value, k.at, k.took = value, begin, now().Sub(begin)
	}
	return value, err
}

const (
	slowShare = 20 // how many times as long as its read an answer is kept
	slowMost  = 5 * time.Second
)

// forget makes the next get read the value.
func (k *kept[T]) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = time.Time{}
}

func (k *kept[T]) get(now time.Time, read func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := now.Sub(k.at); age >= 0 && age < ReadEvery && !k.at.IsZero() {
		return k.value, nil
	}
	value, err := read()
	if err == nil {
		k.value, k.at = value, now
	}
	return value, err
}

// QueueOut is a queue with its settings, its numbers of jobs and the time of its oldest due job.
type QueueOut struct {
	wire.Queue
	// OldestDue is when the oldest due job was due.
	OldestDue job.Micros `json:"oldest_due,omitempty"`
	// Processes are the names of the living processes that work on the queue.
	Processes []string `json:"processes"`
}

// QueueList is a list of queues.
type QueueList struct {
	Items []QueueOut `json:"items"`
}

// ProcessList is a list of processes.
type ProcessList struct {
	Items []wire.Worker `json:"items"`
}

// QueueChangeIn changes the settings of a queue. 0, and an empty rate, remove a setting.
type QueueChangeIn struct {
	Workers *int `json:"workers,omitempty" jsonschema:"minimum=0"`
	Limit   *int `json:"limit,omitempty" jsonschema:"minimum=0"`
	// Rate is the starts per s, m or h, such as 10/s.
	Rate *string `json:"rate,omitempty"`
	Note string  `json:"note,omitempty" jsonschema:"maxLength=4096"`
}

// ReasonIn is the body of a request that has only a reason, as for an action that changes no setting.
type ReasonIn struct {
	// Note is the reason, for the audit log.
	Note string `json:"note,omitempty" jsonschema:"maxLength=4096"`
}

// queueViews returns all queues of the store and of the configuration, sorted by name.
func (a *API) queueViews(ctx context.Context) ([]QueueOut, error) {
	queues, err := a.client.Queues(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := a.client.Counts(ctx)
	if err != nil {
		return nil, err
	}
	heads, err := a.client.Heads(ctx)
	if err != nil {
		return nil, err
	}
	processes, err := a.client.Processes(ctx)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*QueueOut)
	view := func(name string) *QueueOut {
		if byName[name] == nil {
			byName[name] = &QueueOut{Queue: wire.Queue{Name: name, Mode: redrive.QueueOpen.String(), Jobs: make(map[string]int64)}, Processes: []string{}}
			for _, s := range job.States {
				byName[name].Jobs[s.String()] = 0
			}
		}
		return byName[name]
	}
	for _, name := range a.o.Queues {
		view(name)
	}
	for _, q := range queues {
		v := view(q.Name)
		v.Mode, v.Workers, v.Limit, v.Rate = q.Mode.String(), q.Workers, q.Limit, words.Rate(q.Rate)
		for _, s := range [...]struct {
			name string
			set  bool
		}{{"limit", q.Limit > 0}, {"rate", !q.Rate.Unlimited()}, {"workers", q.Workers > 0}} {
			if s.set {
				v.Set = append(v.Set, s.name)
			}
		}
	}
	for _, n := range counts {
		view(n.Queue).Jobs[n.State.String()] += n.N
	}
	for _, h := range heads {
		if v := view(h.Queue); h.Due != 0 && (v.OldestDue == 0 || h.Due < v.OldestDue) {
			v.OldestDue = h.Due
		}
	}
	for i := range processes {
		for _, name := range processes[i].Queues {
			if !processes[i].Silent {
				v := view(name)
				v.Processes = append(v.Processes, processes[i].Name)
			}
		}
	}
	list := make([]QueueOut, 0, len(byName))
	for _, v := range byName {
		list = append(list, *v)
	}
	slices.SortFunc(list, func(a, b QueueOut) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (a *API) listQueues(c *Call) error {
	list, err := a.queues.get(a.o.Now(), func() ([]QueueOut, error) { return a.queueViews(c.Context()) })
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, QueueList{list})
}

// changeQueue changes the settings of a queue.
func (a *API) changeQueue(c *Call) error {
	var in QueueChangeIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	change := redrive.QueueChange{Workers: in.Workers, Limit: in.Limit}
	if in.Rate != nil {
		rate, err := parseRate(*in.Rate)
		if err != nil {
			return InvalidField.Mistaken(Mistake{Pointer: "/rate", Detail: err.Error()})
		}
		change.Rate = &rate
	}
	if in.Workers == nil && in.Limit == nil && in.Rate == nil {
		return InvalidField.Mistaken(Mistake{Detail: "nothing to change: give workers, limit or rate"})
	}
	return a.setQueue(c, change, in.Note)
}

// queueMode returns the handler that sets the mode of a queue.
func queueMode(mode redrive.QueueMode) func(*API, *Call) error {
	return func(a *API, c *Call) error {
		note, err := c.reason()
		if err != nil {
			return err
		}
		return a.setQueue(c, redrive.QueueChange{Mode: &mode}, note)
	}
}

func (a *API) setQueue(c *Call, change redrive.QueueChange, note string) error {
	if err := checkReason(note); err != nil {
		return err
	}
	change.Name = c.R.PathValue("name")
	if _, err := a.client.SetQueue(c.Context(), c.By(note), change); err != nil {
		return err
	}
	list, err := a.queueViews(c.Context())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(q QueueOut) bool { return q.Name == change.Name })
	if i < 0 {
		return NotFound.New("queue %q: there is no such queue", change.Name)
	}
	return c.JSON(http.StatusOK, list[i])
}

// parseRate reads a rate such as 10/s; "" and "0" mean no limit.
func parseRate(text string) (redrive.Rate, error) {
	if text == "" || text == "0" {
		return redrive.Rate{}, nil
	}
	digits, unit, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(digits)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	if err != nil || n < 1 || per == 0 {
		return redrive.Rate{}, InvalidField.New("%.40q must be a number of starts per s, m or h, such as 10/s; 0 removes the setting", text)
	}
	rate := redrive.Rate{N: n, Per: per}
	return rate, rate.Validate()
}

func (a *API) listProcesses(c *Call) error {
	list, err := a.client.Processes(c.Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ProcessList{wire.WorkersOf(list).Workers})
}

// orderProcess returns the handler that orders a process to be quiet, or withdraws the order.
func orderProcess(quiet bool) func(*API, *Call) error {
	return func(a *API, c *Call) error {
		note, err := c.reason()
		if err != nil {
			return err
		}
		name := c.R.PathValue("name")
		if err := a.client.OrderProcess(c.Context(), c.By(note), name, quiet); err != nil {
			return err
		}
		list, err := a.client.Processes(c.Context())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(p redrive.Process) bool { return p.Name == name })
		if i < 0 {
			return NotFound.New("process %q: there is no such process", name)
		}
		return c.JSON(http.StatusOK, wire.WorkerOf(&list[i]))
	}
}

// duration returns the value of a parameter that is a duration, or the default.
func (q *queryReader) duration(name string, otherwise time.Duration) time.Duration {
	text := q.text(name)
	if text == "" {
		return otherwise
	}
	d, err := human.ParseDuration(text)
	if err != nil || d <= 0 {
		q.add(name, "must be "+human.DurationForms, nil)
	}
	return d
}
