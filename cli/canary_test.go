package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/cli"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/canary"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/sqlite"
)

// leak is the error of a job whose program has written a text everywhere.
type leak struct{ text string }

func (l leak) Error() string      { return "the program failed: " + l.text }
func (l leak) StderrTail() []byte { return []byte("first line\n" + l.text + "\nlast line\n") }
func (l leak) StdoutTail() []byte { return []byte(l.text) }

// Jobs fail, report and complete with texts that have planted secrets, paths and addresses. No exit
// shows a secret; only those for operators show paths and addresses.
//
// proves: F11
func TestF11_NoExitShowsAPlantedSecret(t *testing.T) {
	t.Parallel()
	secrets, private := canary.Secrets(7), append(canary.Private(7), canary.Emails(7)...)
	if len(secrets) < 300 {
		t.Fatalf("%d texts with secrets, want at least 300", len(secrets))
	}
	if testing.Short() {
		secrets, private = every(secrets, 8), every(private, 4)
	}
	x := newExits(t, append(secrets, private...))
	for i := range x.texts {
		c := &x.texts[i]
		x.hidden(c, "event, note or text for users", x.outside[i])
		x.hidden(c, "log", x.log)
		for _, args := range [][]string{{"dlq", "export"}, {"dlq", "export", "--format", "csv"}, {"events"}, {"audit"}} {
			x.hidden(c, strings.Join(args, " "), x.run(args...))
		}
		if i >= len(secrets) {
			continue // an operator may see it
		}
		for _, args := range [][]string{{"dlq", "groups", "--limit", "500"}, {"dlq", "list", "--limit", "500"}, {"jobs", "list", "--limit", "500"}} {
			x.hidden(c, strings.Join(args, " "), x.run(args...))
		}
		if i%4 != 0 {
			continue // these pages show what the exits above have, too
		}
		dead, done := x.ids[2*i], x.ids[2*i+1]
		for _, args := range [][]string{
			{"jobs", "show", dead, "--json"}, {"dlq", "show", dead}, {"explain", dead, "--json"}, {"jobs", "show", done}, {"jobs", "show", done, "--json"},
		} {
			x.hidden(c, strings.Join(args, " "), x.run(args...))
		}
	}
	shown := x.run("jobs", "show", x.ids[2*len(secrets)])
	if part := x.texts[len(secrets)].Parts[0]; !strings.Contains(shown, part) {
		t.Errorf("an operator does not see the path %q:\n%s", part, shown)
	}
	if raw := x.run("jobs", "show", "--raw", x.ids[0]); !strings.Contains(raw, x.texts[0].Parts[0]) {
		t.Errorf("--raw does not print the payload as it was given: %s", raw)
	}
}

func every(texts []canary.Text, n int) (some []canary.Text) {
	for i := 0; i < len(texts); i += n {
		some = append(some, texts[i])
	}
	return some
}

// exits is a database with two jobs for each text, one dead and one completed, and what is shown of
// them.
type exits struct {
	t       *testing.T
	db      string
	config  string // the configuration of the commands
	texts   []canary.Text
	ids     []string
	outside []string // of each text, what users and readers of events get
	log     string
	ran     map[string]string // the outputs of commands
}

func newExits(t *testing.T, texts []canary.Text) *exits {
	t.Helper()
	x := &exits{t: t, db: filepath.Join(t.TempDir(), "jobs.db"), texts: texts, ran: map[string]string{}}
	x.config = filepath.Join(t.TempDir(), "redrive.yaml")
	if err := os.WriteFile(x.config, []byte("hide_emails: true\ndatabase: "+x.db+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	st, err := sqlite.Open(ctx, x.db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	var log bytes.Buffer
	client, err := redrive.New(st, &redrive.Config{
		TempDir: t.TempDir(), HideEmails: true, Development: true,
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	redrive.HandleRaw(client, "leak", func(ctx context.Context, j *redrive.Job[[]byte]) error {
		text := string(j.Args)
		j.Progress(1, 2, text)
		return errors.Join(j.Feedback(ctx, text), failure.Permanent(failure.Code("X", leak{text}, "said", text)))
	}, nil)
	redrive.HandleRaw(client, "done", func(_ context.Context, j *redrive.Job[[]byte]) error {
		return j.SetResult(map[string]string{"text": string(j.Args)})
	}, nil)
	for _, c := range texts {
		for _, kind := range []string{"leak", "done"} {
			receipt, err := client.Enqueue(ctx, redrive.NewRaw(kind, []byte(c.Text), &redrive.Options{Attrs: map[string]any{"text": c.Text}}))
			if err != nil {
				t.Fatal(err)
			}
			x.ids = append(x.ids, receipt.ID.String())
		}
	}
	if err := client.RunUntilIdle(ctx); err != nil {
		t.Fatal(err)
	}
	x.log = log.String()
	x.collect(ctx, client)
	return x
}

// collect reads what users and readers of events get of each job.
func (x *exits) collect(ctx context.Context, client *redrive.Client) {
	x.t.Helper()
	of := make(map[string]*strings.Builder)
	for _, id := range x.ids {
		of[id] = &strings.Builder{}
	}
	for e, err := range client.Events(ctx, event.Cursor{}, &redrive.EventsOptions{StopAtEnd: true}) {
		if err != nil {
			x.t.Fatal(err)
		}
		if b := of[e.Job.String()]; b != nil {
			x.add(b, e)
		}
	}
	for i := range x.texts {
		id := x.ids[2*i]
		b := of[id]
		for _, f := range x.failures(ctx, client, id) {
			b.WriteString(f.UserMessage + f.Code + f.Class)
		}
		x.outside = append(x.outside, b.String())
	}
}

func (x *exits) failures(ctx context.Context, client *redrive.Client, id string) []job.Failure {
	x.t.Helper()
	var n job.ID
	if err := n.UnmarshalText([]byte(id)); err != nil {
		x.t.Fatal(err)
	}
	failures, err := client.Failures(ctx, n)
	if err != nil {
		x.t.Fatal(err)
	}
	notes, err := client.Notes(ctx, redrive.NoteFilter{Job: n})
	if err != nil || len(notes) != 1 || len(failures) != 1 {
		x.t.Fatalf("job %s has %d feedbacks and %d failures, want 1 of each: %v", id, len(notes), len(failures), err)
	}
	failures[0].UserMessage += notes[0].Text
	return failures
}

func (x *exits) add(b *strings.Builder, v any) {
	x.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		x.t.Fatal(err)
	}
	b.Write(text)
}

// run returns the output of a command. It runs each command once.
func (x *exits) run(args ...string) string {
	x.t.Helper()
	key := strings.Join(args, " ")
	if out, ran := x.ran[key]; ran {
		return out
	}
	var out, errs bytes.Buffer
	env := map[string]string{"HOME": filepath.Dir(x.db)}
	if code := cli.Main(x.t.Context(), append([]string{"--config", x.config}, args...), io.MultiReader(), &out, &errs, func(name string) string { return env[name] }); code != 0 {
		x.t.Fatalf("redrive %s: exit code %d: %s", key, code, errs.String())
	}
	if !strings.Contains(key, "show") && args[0] != "explain" {
		x.ran[key] = out.String()
	}
	return out.String()
}

// hidden checks that an output has no part of a text. It leaves out parts that may be there by
// chance.
func (x *exits) hidden(c *canary.Text, exit, output string) {
	x.t.Helper()
	sure := *c
	sure.Parts = nil
	for _, part := range c.Parts {
		if len(part) >= 8 && strings.ContainsFunc(part, func(r rune) bool { return r > '9' }) || len(part) >= 12 {
			sure.Parts = append(sure.Parts, part)
		}
	}
	if part := sure.Leaked(output); part != "" {
		at := strings.Index(output, part)
		x.t.Errorf("%s: %s shows %q of %q: …%s…", c.Row, exit, part, c.Text, output[max(0, at-80):min(len(output), at+80)])
	}
}
