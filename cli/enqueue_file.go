package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

const (
	// enqueueBatch is the number of jobs of a file that are enqueued in one transaction.
	enqueueBatch = 1_000
	// mistakesMax is the largest number of mistakes in a file that are printed.
	mistakesMax = 20
)

// lineJob is a job, and the line of the file from which it was read.
type lineJob struct {
	line int
	spec redrive.Spec
}

// lineSource reads jobs from a file or from standard input.
type lineSource struct {
	*wire.Requests
	*rules
}

func (r *rules) source(name string, in io.Reader) *lineSource {
	return &lineSource{wire.ReadRequests(name, in, r.Limits.PayloadBytes, r.now), r}
}

// inBatches calls take with the jobs of all lines, 1 to enqueueBatch at a time. If a line is wrong,
// take gets the jobs before it, and then the mistake is returned. The function check finds more
// mistakes in a job; it may be nil.
func (s *lineSource) inBatches(check func(*lineJob) error, take func([]lineJob) error) error {
	batch := make([]lineJob, 0, enqueueBatch)
	for {
		j, err := s.job()
		if err == nil && check != nil {
			err = check(&j)
		}
		if err == nil {
			batch = append(batch, j)
		}
		if err == nil && len(batch) < enqueueBatch {
			continue
		}
		if len(batch) > 0 {
			if terr := take(batch); terr != nil {
				return terr
			}
			batch = batch[:0]
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// enqueue calls add with the jobs of a batch. If the key of a job belongs to a job with another
// payload, the error names the line.
func (s *lineSource) enqueue(batch []lineJob, add func([]redrive.Spec) ([]redrive.Receipt, error)) ([]redrive.Receipt, error) {
	specs := make([]redrive.Spec, len(batch))
	for i := range batch {
		specs[i] = batch[i].spec
	}
	receipts, err := add(specs)
	if key, ok := errors.AsType[*redrive.KeyConflict](err); ok {
		err = &wire.LineError{Name: s.Name(), Line: batch[key.Index].line, Err: err}
	}
	return receipts, err
}

// job returns the job of the next line, and io.EOF after the last line. A *wire.LineError
// means that only this line is wrong.
func (s *lineSource) job() (lineJob, error) {
	q, err := s.Next()
	if err != nil {
		return lineJob{}, err
	}
	if err := s.asText(q); err != nil {
		return lineJob{}, s.At(err)
	}
	spec, err := s.spec(q)
	if err != nil {
		return lineJob{}, s.At(err)
	}
	return lineJob{s.Line(), spec}, nil
}

// enqueueFile enqueues the jobs of a file. If the file can be read twice, all lines are
// checked before the first job is enqueued.
func (a *app) enqueueFile(ctx context.Context, r *rules, name string, asJSON bool) (err error) {
	in, total, path := a.in, int64(0), ""
	if name == "-" {
		name = "stdin"
	} else {
		path = name
		f, err := openFile(name)
		if err != nil {
			return fmt.Errorf("jobs: %w", err)
		}
		defer f.Close()
		if total, err = a.checkFile(r, name, f); err != nil {
			return err
		}
		in = f
	}
	client, db, err := a.enqueuer(ctx, r)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	in, release := untilSignal(in)
	defer release()
	t := &taker{app: a, client: client, source: r.source(name, in), path: path, json: asJSON}
	t.bar = newBar(a, total)
	err = t.all(ctx)
	t.bar.end()
	if err != nil {
		return t.stopped(err)
	}
	return t.summary()
}

// checkFile checks a file that can be read a second time, and returns its size.
func (a *app) checkFile(r *rules, name string, f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("jobs: %w", err)
	}
	if !info.Mode().IsRegular() {
		return 0, nil
	}
	over := a.busy("checking " + words.Clean(name))
	err = mistakes(r.source(name, f))
	over()
	if err != nil {
		return 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("jobs: %w", err)
	}
	return info.Size(), nil
}

// mistakes returns the mistakes in all lines.
func mistakes(s *lineSource) error {
	var found several
	for {
		_, err := s.job()
		wrong, ok := errors.AsType[*wire.LineError](err)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return found.asError()
		case !ok:
			return err
		case len(found) == mistakesMax:
			return append(found, usagef("%s: more mistakes follow; no job was enqueued", s.Name()))
		default:
			found = append(found, wrong)
		}
	}
}

// taker enqueues jobs batch by batch.
type taker struct {
	*app
	client *redrive.Client
	source *lineSource
	path   string // path of the file; "" if the jobs come from standard input
	json   bool
	bar    *bar

	batch []lineJob // the batch whose enqueue has failed; nil if none has failed

	jobs     int64 // number of jobs that were enqueued
	existing int64 // number of these jobs whose key already existed
	skipped  int64 // number of those whose job has completed
	last     int   // last line whose job was enqueued; 0 if no job was enqueued
	first    redrive.JobID
	final    redrive.JobID
}

func (t *taker) all(ctx context.Context) error {
	return t.source.inBatches(nil, func(batch []lineJob) error { return t.take(ctx, batch) })
}

func (t *taker) take(ctx context.Context, batch []lineJob) error {
	receipts, err := t.source.enqueue(batch, func(specs []redrive.Spec) ([]redrive.Receipt, error) { return t.client.EnqueueMany(ctx, specs) })
	if err != nil {
		t.batch = batch
		return err
	}
	t.note(batch, receipts)
	t.bar.set(t.source.Bytes(), t.jobs)
	return t.tell(batch, receipts)
}

// note counts the jobs of a batch that was enqueued.
func (t *taker) note(batch []lineJob, receipts []redrive.Receipt) {
	t.last = batch[len(batch)-1].line
	t.jobs += int64(len(receipts))
	for i := range receipts {
		r := &receipts[i]
		if r.Existing {
			t.existing++
			if r.Skipped() {
				t.skipped++
			}
			continue
		}
		if t.first == 0 {
			t.first = r.ID
		}
		t.final = r.ID
	}
}

// tell prints the receipts of a batch right after its enqueue, so that they are printed even if a
// later batch fails.
func (t *taker) tell(batch []lineJob, receipts []redrive.Receipt) error {
	if !t.json {
		return nil
	}
	for i := range receipts {
		if err := t.printJSONLine(wire.ReceiptOf(&receipts[i], batch[i].line)); err != nil {
			return fmt.Errorf("print receipts: %w", err)
		}
	}
	if err := t.out.Flush(); err != nil {
		return fmt.Errorf("print receipts: %w", err)
	}
	return nil
}

func (t *taker) summary() error {
	if t.json {
		return nil
	}
	made := t.jobs - t.existing
	text := words.Count(made, "job") + " enqueued"
	if made > 0 {
		text += fmt.Sprintf(", ids %d to %d", t.first, t.final)
	}
	if t.existing > 0 {
		text += fmt.Sprintf("; %s not enqueued, because jobs with their keys exist", words.Number(t.existing))
		if t.skipped > 0 {
			text += fmt.Sprintf(" (%s skipped: completed already)", words.Number(t.skipped))
		}
	}
	_, err := fmt.Fprintln(t.out, text)
	return err
}
