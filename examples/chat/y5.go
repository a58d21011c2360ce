package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// produceScript writes tasks as the chat system does, with aiokafka.
//
//go:embed produce.py
var produceScript string

// play is one run of the story. Each line that it says is either as it should be, or a failure.
type play struct {
	*system
	*backend
	web     *httptest.Server
	python  string // a Python with aiokafka; "" without one
	began   time.Time
	ids     map[string]string // job_id by the name in the story
	failed  int
	scratch []map[string]any // tasks that wait to be produced
}

// y5 plays the story and returns an error if something was not as it should be.
func y5(ctx context.Context, s *settings, jars string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	began := time.Now()
	y, err := startSystem(ctx, s, jars)
	if y != nil {
		defer func() { _ = y.close() }() // what is left are temporary files
	}
	if err != nil {
		return err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	b, handler, err := openBackend(working, s)
	if err != nil {
		return err
	}
	p := &play{system: y, backend: b, web: httptest.NewServer(handler), began: began, ids: map[string]string{}}
	defer p.web.Close()
	p.python = python(ctx)
	producer := "franz-go (no Python with aiokafka was found)"
	if p.python != "" {
		producer = "aiokafka"
	}
	fmt.Printf("broker %s, two orchestrators, waits of the preset chat divided by %g, tasks produced by %s\n", strings.Join(s.Brokers, ","), s.Faster, producer)
	for _, scene := range []func(context.Context) error{p.tasks, p.killed, p.brokerKilled, p.outcomes, p.operator, p.answer} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	fmt.Printf("%d failures, %.1f s\n", p.failed, time.Since(began).Seconds())
	if p.failed > 0 {
		return fmt.Errorf("%d lines were not as they should be", p.failed)
	}
	return nil
}

// python returns a Python that has aiokafka.
func python(ctx context.Context) string {
	for _, program := range []string{os.Getenv("REDRIVE_PYTHON"), "python3"} {
		if program != "" && exec.CommandContext(ctx, program, "-c", "import aiokafka").Run() == nil { //nolint:gosec // the user names the program
			return program
		}
	}
	return ""
}

// say writes what has happened, and whether it should have.
func (p *play) say(ok bool, format string, args ...any) {
	mark := "ok  "
	if !ok {
		mark = "FAIL"
		p.failed++
	}
	fmt.Printf("%s %6.1f s  %s\n", mark, time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// task prepares a task; flush produces them.
func (p *play) task(name, kind string, payload order, key string) {
	if p.ids[name] == "" {
		p.ids[name] = uuid()
	}
	payload.Text = name
	t := map[string]any{"job_id": p.ids[name], "task_type": kind, "payload": payload}
	if key != "" {
		t["idempotency_key"] = key
	}
	p.scratch = append(p.scratch, t)
}

func (p *play) flush(ctx context.Context) error {
	tasks := p.scratch
	p.scratch = nil
	if p.python != "" {
		var lines bytes.Buffer
		for _, t := range tasks {
			text, err := json.Marshal(t)
			if err != nil {
				return err
			}
			lines.Write(append(text, '\n'))
		}
		cmd := exec.CommandContext(ctx, p.python, "-W", "ignore", "-c", produceScript, strings.Join(p.Brokers, ","), primaryTopic)
		cmd.Stdin, cmd.Stderr = &lines, os.Stderr
		return cmd.Run()
	}
	for _, t := range tasks {
		key, _ := t["idempotency_key"].(string)
		if err := p.produce(ctx, newMessage(t["job_id"].(string), t["task_type"].(string), t["payload"], key)); err != nil {
			return err
		}
	}
	return nil
}

// ended waits until a task has ended, and returns its job.
func (p *play) ended(ctx context.Context, name string) (job.Job, error) {
	return p.until(ctx, name, func(j *job.Job) bool { return j.State.Terminal() })
}

func (p *play) until(ctx context.Context, name string, done func(*job.Job) bool) (j job.Job, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	id, err := p.find(ctx, p.ids[name])
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for err == nil {
		if j, err = p.client.Get(ctx, id); err == nil && done(&j) {
			return j, nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return j, fmt.Errorf("the task %q is still %s", name, j.State)
		}
	}
	return j, err
}

const plain = 30 // tasks that nothing happens to

// tasks produces the tasks of the story.
func (p *play) tasks(ctx context.Context) error {
	p.task("always failing", "chat_completion", order{Status: 503}, "")
	p.task("permanent", "send_mail", order{Status: 401}, "")
	p.task("second permanent", "embed_document", order{Status: 422}, "")
	p.task("third permanent", "chat_completion", order{Status: 404}, "")
	p.task("recovers", "embed_document", order{Status: 500, First: 2}, "")
	p.task("first of a key", "send_mail", order{}, "invoice-7")
	for i := range plain {
		p.task(fmt.Sprintf("plain %d", i), []string{"chat_completion", "embed_document", "send_mail"}[i%3], order{}, "")
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	if _, err := p.ended(ctx, "first of a key"); err != nil {
		return err
	}
	again := order{Text: "first of a key"}
	p.scratch = append(p.scratch, map[string]any{"job_id": uuid(), "task_type": "send_mail", "payload": again, "idempotency_key": "invoice-7"})
	return p.flush(ctx)
}

// killed kills the orchestrator that runs a task, in the middle of it.
//
// It waits for all other tasks first, because the kill would repeat those that run, too.
func (p *play) killed(ctx context.Context) error {
	for name := range p.ids {
		if _, err := p.ended(ctx, name); err != nil {
			return err
		}
	}
	p.task("killed in mid-task", "send_mail", order{Hang: true}, "")
	if err := p.flush(ctx); err != nil {
		return err
	}
	select {
	case <-p.world.began:
	case <-time.After(time.Minute):
		return errors.New("the task that hangs has not begun within a minute")
	}
	j, err := p.until(ctx, "killed in mid-task", func(j *job.Job) bool { return j.State == job.Running })
	if err != nil {
		return err
	}
	if err := p.kill(j.Holder); err != nil {
		return err
	}
	p.say(true, "%s is killed with SIGKILL while it sends a mail, and started again", j.Holder)
	if err := p.start(j.Holder); err != nil {
		return err
	}
	if j, err = p.ended(ctx, "killed in mid-task"); err != nil {
		return err
	}
	calls, twice := p.world.count(p.ids["killed in mid-task"])
	p.say(j.State == job.Completed && calls == 2 && twice == 1 && j.Counters.Crashes == 1,
		"the task of the killed orchestrator: %s, %d executions, the second with the same idempotency key", j.State, calls)
	return nil
}

// brokerKilled kills the broker while tasks arrive.
func (p *play) brokerKilled(ctx context.Context) error {
	if p.kafka == nil {
		p.say(true, "the broker belongs to somebody else: it is not killed")
		return nil
	}
	if err := errors.Join(p.kafka.Kill(), p.kafka.Start(ctx)); err != nil {
		return err
	}
	p.say(true, "the broker is killed with SIGKILL and started again")
	for i := plain; i < 2*plain; i++ {
		p.task(fmt.Sprintf("plain %d", i), []string{"chat_completion", "embed_document", "send_mail"}[i%3], order{}, "")
	}
	return p.flush(ctx)
}

// outcomes says what has become of the tasks.
func (p *play) outcomes(ctx context.Context) error {
	completed, runs := 0, 0
	for i := range 2 * plain {
		name := fmt.Sprintf("plain %d", i)
		j, err := p.ended(ctx, name)
		if err != nil {
			return err
		}
		calls, _ := p.world.count(p.ids[name])
		runs += calls
		if j.State == job.Completed {
			completed++
		}
	}
	p.say(completed == 2*plain && runs == 2*plain, "%d plain tasks: %d completed, %d executions; nothing is lost, nothing ran twice", 2*plain, completed, runs)
	for _, c := range []struct {
		name   string
		runs   int
		state  job.State
		reason job.Reason
	}{
		{"permanent", 1, job.Dead, job.NonRetriable}, {"always failing", 6, job.Dead, job.MaxRetries}, {"recovers", 3, job.Completed, ""},
		{"first of a key", 1, job.Completed, ""},
	} {
		j, err := p.ended(ctx, c.name)
		if err != nil {
			return err
		}
		calls, _ := p.world.count(p.ids[c.name])
		what := c.name
		if c.name == "first of a key" {
			what = "the same idempotency key twice, the second is skipped"
		}
		p.say(calls == c.runs && j.State == c.state && j.Reason == c.reason, "%s: %d %s, %s %s", what, calls, executions(calls), j.State, j.Reason)
	}
	return nil
}

func executions(n int) string {
	if n == 1 {
		return "execution"
	}
	return "executions"
}

// operator does what an operator does with dead letters, over the routes of the chat system.
func (p *play) operator(ctx context.Context) error {
	for _, name := range []string{"second permanent", "third permanent"} {
		if _, err := p.ended(ctx, name); err != nil {
			return err
		}
	}
	dlq := p.web.URL + "/api/admin/dlq"
	id := func(name string) string { return p.ids[name] }
	var list struct{ Entries []json.RawMessage }
	status, err := p.call(ctx, http.MethodGet, dlq+"?status=pending", "", &list)
	if err != nil {
		return err
	}
	p.say(status == 200 && len(list.Entries) == 4, "list: %d pending dead letters", len(list.Entries))
	var one struct {
		Reason   string `json:"dlq_reason"`
		Status   string
		Metadata struct {
			RetryCount int                   `json:"retry_count"`
			LastError  struct{ Type string } `json:"last_error"`
		}
	}
	status, err = p.call(ctx, http.MethodGet, dlq+"/"+id("always failing"), "", &one)
	p.say(err == nil && status == 200 && one.Metadata.RetryCount == 5 && one.Reason == string(job.MaxRetries),
		"get by job_id: %s after %d retries, %s", one.Reason, one.Metadata.RetryCount, one.Metadata.LastError.Type)
	for _, act := range []struct{ name, path, body, want string }{
		{"second permanent", "resolve", `{"action":"repaired","notes":"by hand"}`, "resolved"},
		{"third permanent", "ignore?reason=known", "", "ignored"},
		{"permanent", "retry", "", "retried"},
	} {
		status, err = p.call(ctx, http.MethodPost, dlq+"/"+id(act.name)+"/"+act.path, act.body, &one)
		verb, _, _ := strings.Cut(act.path, "?")
		p.say(err == nil && status == 200 && one.Status == act.want, "%s: %d, the dead letter is %s", verb, status, one.Status)
	}
	j, err := p.until(ctx, "permanent", func(j *job.Job) bool { return j.Life == 2 && j.State == job.Dead })
	if err != nil {
		return err
	}
	calls, _ := p.world.count(id("permanent"))
	p.say(calls == 2, "the retried task ran once more and is %s again: %d executions in two lives", j.State, calls)
	var bulk struct{ Retried, Refused int }
	status, err = p.call(ctx, http.MethodPost, dlq+"/bulk-retry", fmt.Sprintf("[%q, %q, %q]", id("permanent"), id("always failing"), "unknown"), &bulk)
	p.say(err == nil && status == 200 && bulk.Retried == 2 && bulk.Refused == 1, "bulk-retry of three ids: %d retried, %d refused", bulk.Retried, bulk.Refused)
	var purged map[string]any
	status, err = p.call(ctx, http.MethodDelete, dlq+"/purge?before_date="+time.Now().UTC().Format(time.RFC3339), "", &purged)
	left, lerr := p.client.DeadLetters(ctx, redrive.DeadFilter{}, redrive.DeadPaging{})
	pendingOnly := lerr == nil
	for i := range left.Entries {
		if s := left.Entries[i].Status; s == job.Resolved || s == job.Ignored {
			pendingOnly = false
		}
	}
	p.say(err == nil && status == 200 && pendingOnly, "purge: %d, resolved and ignored dead letters are gone, pending ones are not", status)
	return nil
}

// call makes a request and reads its answer.
func (p *play) call(ctx context.Context, method, url, body string, into any) (status int, err error) {
	ask, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	ask.Header.Set("Content-Type", "application/json")
	answer, err := p.web.Client().Do(ask)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode < 300 {
		err = json.Unmarshal(text, into)
	}
	return answer.StatusCode, err
}

// answer asks a question and reads the server-sent events of its answer.
func (p *play) answer(ctx context.Context) error {
	var asked struct {
		JobID  string `json:"job_id"`
		Events string
	}
	status, err := p.call(ctx, http.MethodPost, p.web.URL+"/chat", `{"text":"why is the sky blue?","status":429,"first":1}`, &asked)
	if err != nil || status != http.StatusAccepted {
		return fmt.Errorf("ask: %d, %w", status, err)
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, p.web.URL+asked.Events, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := p.web.Client().Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var names []string
	last := ""
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			names = append(names, name)
		} else if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			last = data
		}
	}
	p.say(len(names) > 0 && names[len(names)-1] == "answer" && strings.Contains(last, "the sky"), "server-sent events of a question that fails once: %s, %s", strings.Join(names, ", "), last)
	return nil
}
