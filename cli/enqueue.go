package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type enqueueCmd struct {
	jsonFlag
	Kind    string `arg:"" optional:"" help:"Kind of the job."`
	Payload string `arg:"" optional:"" help:"Payload; \"-\" reads it from standard input."`
	File    string `placeholder:"FILE" help:"Enqueue many jobs from a file, one JSON object per line; \"-\" reads standard input."`

	jobFlags
}

// jobFlags are the flags for the options of one job.
type jobFlags struct {
	Queue       string   `placeholder:"NAME" help:"Queue of the job. Default: the queue of the kind."`
	Priority    *int     `placeholder:"N" help:"Priority of the job: 1 runs first, 4 last. Default: the priority of the kind, or 2."`
	At          string   `placeholder:"WHEN" help:"Start the job not before this time, such as 2026-01-31T18:00."`
	In          *span    `placeholder:"DURATION" help:"Start the job not before this duration has passed, such as 90s, 1h30m or 3d."`
	Deadline    string   `placeholder:"WHEN" help:"Do not start the job after this time, or after this duration; it is dead then."`
	Owner       string   `placeholder:"NAME" help:"Owner of the job."`
	Key         string   `placeholder:"KEY" help:"Idempotency key: an enqueue with the same key, owner and kind returns the first job."`
	Unique      string   `placeholder:"alive|DURATION" help:"Return the earlier job of the same owner, kind and payload: while it is alive, or in each period of this length in UTC, such as 24h."`
	Correlation string   `placeholder:"ID" help:"Correlation id, for logs."`
	Attr        []string `placeholder:"NAME=VALUE" sep:"none" help:"Attribute of the job as a text, or NAME:=JSON for any other value. You can repeat this flag."`
	overrideFlags
}

// Help implements kong.HelpProvider.
func (*enqueueCmd) Help() string {
	return `When the command has ended, the job is stored durably. The command prints its id.

    redrive enqueue thumbnail '{"image":"cat.png"}'
    redrive enqueue report --in 2h --key monthly-2026-01 - < report.json
    redrive enqueue ocr '{"page":1}' --max-retries 2 --waits 30s,5m
    redrive enqueue --file jobs.jsonl
    generate | redrive enqueue --file -

A line of a file has the fields kind, payload, queue, priority, run_at, in, deadline, owner, key, unique, correlation,
attrs and retry (an object, such as {"max_retries":2,"waits":["30s"]}); only kind is required. run_at and deadline have the forms of --at and --deadline: a time, or a duration from now. The
whole file is checked before its first job is enqueued. Jobs from standard input are enqueued 1,000 at a time, in order,
until a line is wrong.`
}

func (c *enqueueCmd) Run(ctx context.Context, a *app) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	if err := cmp.Or(c.checkUse(), a.namesDatabase(&s)); err != nil {
		return err
	}
	checks, err := payloadChecks(s.Config)
	if err != nil {
		return err
	}
	r := rules{settings: s, now: a.now(), checks: checks}
	if c.File != "" {
		return a.enqueueFile(ctx, &r, c.File, c.JSON)
	}
	one, err := c.request(a.in, r.now, s.Limits.PayloadBytes)
	if err != nil {
		return &usageError{err}
	}
	spec, err := r.spec(one)
	if errors.Is(err, redrive.ErrNotFound) {
		return err // the error says that the kind or the queue is unknown
	}
	if err != nil {
		return &usageError{err}
	}
	return a.enqueueOne(ctx, &r, spec, c.JSON)
}

// checkUse returns an error if the flags of the two forms of the command (one job, or a
// file of jobs) are mixed.
func (c *enqueueCmd) checkUse() error {
	switch {
	case c.File == "" && c.Kind == "":
		return usagef("name a kind, or a file with --file; see `redrive enqueue --help`")
	case c.File != "" && c.Kind != "":
		return usagef("either a kind or --file, not both; the kinds of a file are in its lines")
	case c.File != "" && !reflect.ValueOf(c.jobFlags).IsZero():
		return usagef("--file takes no options of a job; write them into the lines of the file")
	}
	return nil
}

// request makes the request for one job from the command line.
func (c *enqueueCmd) request(stdin io.Reader, now time.Time, payloadMax int) (*wire.Request, error) {
	r := &wire.Request{
		Kind: c.Kind, Queue: c.Queue, Owner: c.Owner, Key: c.Key, Correlation: c.Correlation,
		Payload: []byte(c.Payload), Priority: c.Priority,
	}
	for _, t := range [...]struct {
		flag, text string
		into       *time.Time
	}{{"--at", c.At, &r.RunAt}, {"--deadline", c.Deadline, &r.Deadline}} {
		if t.text == "" {
			continue
		}
		at, err := human.ParseTime(t.text, now, false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.flag, err)
		}
		*t.into = at
	}
	if c.Unique != "" {
		unique, err := wire.ParseUnique(c.Unique)
		if err != nil {
			return nil, fmt.Errorf("--unique %w", err)
		}
		r.Unique = &unique
	}
	r.In = (*time.Duration)(c.In)
	retry, err := c.override()
	if err != nil {
		return nil, err
	}
	if retry.Encode() != nil {
		r.Retry = &retry
	}
	for _, a := range c.Attr {
		name, text, ok := strings.Cut(a, "=")
		value := any(text)
		name, typed := strings.CutSuffix(name, ":")
		if !ok || name == "" {
			return nil, fmt.Errorf("--attr %q: must be NAME=TEXT or NAME:=JSON", a)
		}
		if typed {
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				return nil, fmt.Errorf("--attr %s: the value after := must be JSON, such as %s:=7200 or %s:=true: %w", name, name, name, err)
			}
		}
		if _, twice := r.Attrs[name]; twice {
			return nil, fmt.Errorf("--attr %s is given twice", name)
		}
		if r.Attrs == nil {
			r.Attrs = make(map[string]any)
		}
		r.Attrs[name] = value
	}
	if c.Payload == "-" {
		// One byte more than the limit is read, which shows that the payload is too long.
		payload, err := io.ReadAll(io.LimitReader(stdin, int64(payloadMax)+1))
		if err != nil {
			return nil, fmt.Errorf("read the payload: %w", err)
		}
		r.Payload = payload
	}
	return r, nil
}

// enqueueOne enqueues one job and prints its id.
func (a *app) enqueueOne(ctx context.Context, r *rules, spec redrive.Spec, asJSON bool) (err error) {
	client, db, err := a.enqueuer(ctx, r)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if deadline := spec.Options().Deadline; !deadline.IsZero() && deadline.Before(r.now) {
		fmt.Fprintf(a.stderr, "redrive: the deadline %s has passed, so the job will be dead without a run\n", words.Time(job.At(deadline)))
	}
	receipt, err := client.Enqueue(ctx, spec)
	if err != nil {
		return err
	}
	var summary string
	if receipt.Skipped() {
		if summary, err = summaryOf(ctx, client, spec); err != nil {
			return err
		}
	}
	if asJSON {
		out := wire.ReceiptOf(&receipt, 0)
		out.Summary = summary
		return a.printJSONLine(out)
	}
	switch {
	case receipt.Skipped() && summary != "":
		fmt.Fprintf(a.stderr, "redrive: skipped: job %d with this key was completed already, with the result %s; no new job was created\n",
			receipt.ID, words.Clean(summary))
	case receipt.Skipped():
		fmt.Fprintf(a.stderr, "redrive: skipped: job %d with this key was completed already, without a result; no new job was created\n", receipt.ID)
	case receipt.Existing && spec.Options().Unique != nil:
		fmt.Fprintf(a.stderr, "redrive: job %d (%s) has the same payload; no new job was created\n", receipt.ID, receipt.State)
	case receipt.Existing:
		fmt.Fprintf(a.stderr, "redrive: the key already belongs to job %d (%s); no new job was created\n", receipt.ID, receipt.State)
	}
	_, err = fmt.Fprintln(a.out, receipt.ID)
	return err
}

// summaryOf returns the summary of the result of the completed job that holds the key of a job.
func summaryOf(ctx context.Context, client *redrive.Client, spec redrive.Spec) (string, error) {
	o := spec.Options()
	if o.Key == "" { // Options.Unique: the payload names the job, and its result is with the job
		return "", nil
	}
	p, err := client.Processed(ctx, o.Owner, spec.Kind(), o.Key)
	if errors.Is(err, redrive.ErrNotFound) { // the key was forgotten since
		return "", nil
	}
	return p.Summary, err
}

// enqueuer opens the database to enqueue jobs, and creates the database if it does not
// exist. The caller closes it.
func (a *app) enqueuer(ctx context.Context, r *rules) (*redrive.Client, io.Closer, error) {
	p, db, err := a.policyOfEnqueue(ctx, &r.settings)
	if err != nil {
		return nil, nil, err
	}
	client, err := db.client(&redrive.Config{PayloadMax: r.Limits.PayloadBytes, Policy: p, PayloadChecks: r.checks})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return client, db, nil
}
