package docs_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/redrivetest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/sqlite"
)

// The code of library.md stands in this file, in the others whose name begins with "library", and in the examples of
// the root package, so that it compiles and runs.
func TestLibrary_TheCodeOfThePageIsTested(t *testing.T) {
	t.Parallel()
	lines := func(code string) string {
		var out []string
		for line := range strings.SplitSeq(code, "\n") {
			out = append(out, strings.TrimLeft(line, "\t"))
		}
		return strings.Join(out, "\n")
	}
	code := ""
	for _, file := range []string{"library_test.go", "library_retries_test.go", "library_sqlite_test.go", "../example_dead_test.go"} {
		code += lines(read(t, file))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "library.md"), -1)
	if len(blocks) < 9 {
		t.Fatalf("the page has %d blocks of Go code, want at least 9", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(code, lines(block[1])) {
			t.Errorf("this code of library.md does not stand in library_test.go, so no test runs it:\n%s", block[1])
		}
	}
}

type Invoice struct {
	Number int    `json:"number"`
	To     string `json:"to"`
}

const SendInvoice = redrive.Kind[Invoice]("send_invoice")

// mailer sends mails: it keeps the keys of the steps.
type mailer struct{ sent map[string]string }

func (m *mailer) post(_ context.Context, to, key string) error {
	if to == "" {
		return &apiError{status: 422}
	}
	m.sent[key] = to
	return nil
}

func (m *mailer) send(ctx context.Context, j *redrive.Job[Invoice]) error {
	return m.post(ctx, j.Args.To, j.StepKey("mail"))
}

type apiError struct{ status int }

func (e *apiError) Error() string   { return fmt.Sprintf("the mail service answered %d", e.status) }
func (e *apiError) StatusCode() int { return e.status }

func Example_library() {
	e := failure.Of(fmt.Errorf("send: %w", &apiError{status: 503}))
	fmt.Println(e.HTTPStatus)
	// Output: 503
}

func newDev(st store.Store) (*redrive.Client, error) {
	dev, err := policyfile.Preset("dev")
	if err != nil {
		return nil, err
	}
	return redrive.New(st, &redrive.Config{Policy: dev.Policy})
}

func TestLibrary_TheDevPresetWaitsASecond(t *testing.T) {
	t.Parallel()
	client, err := newDev(memory.New(memory.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(client, SendInvoice, (&mailer{}).send, nil)
	dev, err := policyfile.Preset("dev")
	if err != nil {
		t.Fatal(err)
	}
	e := redrivetest.New(t, &redrive.Config{Policy: dev.Policy})
	redrive.Handle(e.Client, SendInvoice, func(context.Context, *redrive.Job[Invoice]) error { return &apiError{status: 503} }, nil)
	if _, err := e.Enqueue(t.Context(), SendInvoice.New(Invoice{}, nil)); err != nil {
		t.Fatal(err)
	}
	if o := e.Work()[0]; o.Wait != time.Second {
		t.Errorf("the first retry comes after %s, want 1s", o.Wait)
	}
}

// shop has its orders in the file of the jobs.
type shop struct {
	store  *sqlite.Store
	client *redrive.Client
}

func (s *shop) order(ctx context.Context, number int, to string) error {
	return s.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (number, mailed) VALUES (?, 0)", number); err != nil {
			return err
		}
		_, err := s.client.EnqueueTx(ctx, sqlite.Tx(tx), SendInvoice.New(Invoice{Number: number, To: to}, nil))
		return err
	})
}

func (s *shop) markMailed(ctx context.Context, j *redrive.Job[Invoice]) error {
	return s.store.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "UPDATE orders SET mailed = 1 WHERE number = ?", j.Args.Number); err != nil {
			return err
		}
		return j.CompleteTx(ctx, sqlite.Tx(tx))
	})
}

func TestLibrary_Transactions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	var log bytes.Buffer
	client, err := redrive.New(st, &redrive.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{st, client}
	redrive.Handle(client, SendInvoice, s.markMailed, nil)
	if err := st.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE orders (number INTEGER PRIMARY KEY, mailed INTEGER)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.order(ctx, 7, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := s.order(ctx, 7, "ann"); err == nil {
		t.Error("the same order was taken twice, want an error")
	}
	if err := client.RunUntilEmpty(ctx); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "WARN") {
		t.Errorf("the log of a job that its handler's transaction completed has a warning:\n%s", log.String())
	}
	mailed, done := 0, 0
	if err := st.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT mailed FROM orders").Scan(&mailed)
	}); err != nil {
		t.Fatal(err)
	}
	page, err := client.List(ctx, redrive.JobFilter{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range page.Jobs {
		if page.Jobs[i].State == job.Completed {
			done++
		}
	}
	if mailed != 1 || done != 1 || len(page.Jobs) != 1 {
		t.Errorf("the order is mailed %d times, %d of %d jobs completed; want one of each", mailed, done, len(page.Jobs))
	}
}

func nightlyClient(st store.Store, zone *time.Location) (*redrive.Client, error) {
	nightly := redrive.Cron{
		Name: "nightly", Expression: "0 3 * * *", Location: zone, Catch: 6 * time.Hour,
		Make: func(slot time.Time) redrive.Spec {
			return SendInvoice.New(Invoice{Number: slot.YearDay(), To: "accounts"}, nil)
		},
	}
	client, err := redrive.New(st, &redrive.Config{Cron: []redrive.Cron{nightly}})
	return client, err
}

func convert(_ context.Context, j *redrive.Job[Invoice]) error {
	for page := range int64(3) {
		j.Progress(page+1, 3, "pages")
	}
	j.AddCost(0.002) // US dollars
	return j.SetResult(map[string]string{"file": "invoice-" + strconv.Itoa(j.Args.Number) + ".pdf"})
}

func TestLibrary_SchedulesAndResults(t *testing.T) { //nolint:paralleltest // Attempt sets TMPDIR
	if _, err := nightlyClient(memory.New(memory.Options{}), time.UTC); err != nil {
		t.Error(err)
	}
	o := redrivetest.Attempt(t, convert, Invoice{Number: 7})
	if string(o.Result) != `{"file":"invoice-7.pdf"}` || o.Cost != 2000 {
		t.Errorf("the result is %s and the cost %d millionths, want the file of invoice 7 and 2000", o.Result, o.Cost)
	}
}

// twoProcesses enqueues with one client and handles with another one.
func twoProcesses(ctx context.Context, st store.Store, send func(context.Context, *redrive.Job[Invoice]) error) error {
	web, err := redrive.New(st, nil) // no handlers: it enqueues, and reads
	if err != nil {
		return err
	}
	worker, err := redrive.New(st, &redrive.Config{Queues: map[string]redrive.Queue{"default": {Workers: 4}}})
	if err != nil {
		return err
	}
	redrive.Handle(worker, SendInvoice, send, nil)
	if _, err := web.Enqueue(ctx, SendInvoice.New(Invoice{Number: 7, To: "ann"}, nil)); err != nil {
		return err
	}
	return worker.RunUntilEmpty(ctx)
}

func TestLibrary_TwoProcesses(t *testing.T) {
	t.Parallel()
	m := &mailer{sent: map[string]string{}}
	if err := twoProcesses(t.Context(), memory.New(memory.Options{}), m.send); err != nil {
		t.Fatal(err)
	}
	if len(m.sent) != 1 {
		t.Errorf("%d mails were sent, want 1", len(m.sent))
	}
}

func TestInvoice_IsRetriedWhenTheServiceIsDown(t *testing.T) {
	t.Parallel()
	answers := []error{&apiError{status: 503}, nil}
	e := redrivetest.New(t, nil)
	redrive.Handle(e.Client, SendInvoice, func(context.Context, *redrive.Job[Invoice]) error {
		answer := answers[0]
		answers = answers[1:]
		return answer
	}, nil)
	if _, err := e.Enqueue(t.Context(), SendInvoice.New(Invoice{Number: 7, To: "ann"}, nil)); err != nil {
		t.Fatal(err)
	}
	first := e.Work()[0]
	if first.State != job.Retrying || failure.Class(first.Failure.Class) != failure.TemporaryServiceError {
		t.Fatalf("the first run ended as %s with %+v, want a retry of a TemporaryServiceError", first.State, first.Failure)
	}
	e.Advance(first.Wait)
	if second := e.Work()[0]; second.State != job.Completed {
		t.Errorf("the second run ended as %s, want completed", second.State)
	}
}

// The rows of the table of evidence that name methods and fields are tried with errors that have them.
func TestLibrary_TheTableOfEvidence(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		read func(failure.Evidence) string
		want string
	}{
		"method StatusCode": {&apiError{status: 503}, status, "503"},
		"field StatusCode":  {&fieldError{StatusCode: 429}, status, "429"},
		"method SQLState":   {sqlError("40P01"), func(e failure.Evidence) string { return e.SQLState }, "40P01"},
		"method RetryAfter": {waitError(time.Minute), func(e failure.Evidence) string { return e.RetryAfter.String() }, "1m0s"},
	} {
		if got := tt.read(failure.Of(fmt.Errorf("call: %w", tt.err))); got != tt.want {
			t.Errorf("%s: the evidence is %q, want %q", name, got, tt.want)
		}
	}
}

func status(e failure.Evidence) string { return strconv.Itoa(e.HTTPStatus) }

type fieldError struct{ StatusCode int }

func (*fieldError) Error() string { return "the call failed" }

type sqlError string

func (sqlError) Error() string      { return "the statement failed" }
func (e sqlError) SQLState() string { return string(e) }

type waitError time.Duration

func (waitError) Error() string               { return "the call failed" }
func (e waitError) RetryAfter() time.Duration { return time.Duration(e) }
