package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/examples/ocr/world"
	"github.com/redrive/redrive/retry"
)

// act is a part of the demonstration: documents that are enqueued together.
type act struct {
	title     string
	documents []scene
}

// scene is a document, and the faults of the calls that are made for it.
type scene struct {
	file
	wrong   string
	trouble []world.Trouble
}

// acts are the parts of the demonstration. The text of a page begins with the name of its
// document, so that a fault can find the calls for its document.
var acts = []act{
	{"First time: pages that nobody has read before", []scene{
		{file{Name: "plain"}, "nothing", nil},
		{file{Name: "letter"}, "the OCR API answers 429 three times", []world.Trouble{
			{Where: world.Vision, About: "LETTER", Times: 3, Status: 429},
		}},
		{file{Name: "invoice"}, "its download breaks off in the middle", []world.Trouble{
			{Where: world.Read, About: "inbox/invoice", Times: 1, Status: world.Cut},
		}},
		{file{Name: "receipt"}, "the language model answers 503 five times", []world.Trouble{
			{Where: world.Model, About: "RECEIPT", Times: 5, Status: 503},
		}},
		{file{Name: "permit"}, "the OCR API asks for 90 s of patience", []world.Trouble{
			{Where: world.Vision, About: "PERMIT", Times: 1, Status: 429, After: 90},
		}},
		{file{Name: "drawing"}, "its processed image cannot be stored", []world.Trouble{
			{Where: world.Write, About: "drawing/page-1.processed", Times: world.Always, Status: 503},
		}},
		{file{Name: "memo", Account: "former"}, "the account's key was revoked", nil},
	}},
	{"Second time: pages that were read before", []scene{
		{file{Name: "plain"}, "nothing", nil},
		{file{Name: "letter"}, "its manifest cannot be loaded", []world.Trouble{
			{Where: world.Read, About: "letter/manifest", Times: world.Always, Status: 503},
		}},
		{file{Name: "invoice"}, "its stored page breaks off each time", []world.Trouble{
			{Where: world.Read, About: "invoice/page-1.json", Times: world.Always, Status: world.Cut},
		}},
	}},
}

// screen prints the events of the demonstration at the time when they happen.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	clock *fast
}

// act enqueues documents, runs the client, and prints the outcomes.
func (s *screen) act(ctx context.Context, client *redrive.Client, bucket *blob.Bucket, plan *world.Plan, a act) error {
	fmt.Fprintf(s.out, "\n%s\n\n", a.title)
	var specs []redrive.Spec
	for i, d := range a.documents {
		picture, err := world.Page(fmt.Sprintf("%s\nNO. 2026-%03d\nTOTAL: %d.50", strings.ToUpper(d.Name), i+1, 100+7*i))
		if err != nil {
			return err
		}
		if err := bucket.WriteAll(ctx, d.inbox(), picture, nil); err != nil {
			return fmt.Errorf("store the picture of %s in the inbox: %w", d.Name, err)
		}
		plan.Add(d.trouble...)
		specs = append(specs, document.New(d.file, &redrive.Options{Correlation: d.Name}))
	}
	receipts, err := client.EnqueueMany(ctx, specs)
	if err != nil {
		return err
	}
	if err := client.RunUntilEmpty(ctx); err != nil { // a server calls Run instead
		return err
	}
	fmt.Fprintf(s.out, "\n%-9s %-42s %-10s %4s  %s\n", "document", "what is wrong", "state", "runs", "outcome")
	for i, r := range receipts {
		if err := s.outcome(ctx, client, a.documents[i], r.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s *screen) outcome(ctx context.Context, client *redrive.Client, d scene, id redrive.JobID) error {
	j, err := client.Get(ctx, id)
	if err != nil {
		return err
	}
	failures, err := client.Failures(ctx, id)
	if err != nil {
		return err
	}
	said := ""
	switch r := resultOf(j.Result); {
	case r.Source != "":
		said = fmt.Sprintf("%s, total %s, text from %s", r.Title, r.Total, r.Source)
		for _, w := range r.Warnings {
			said += "; warning: " + w
		}
	case len(failures) > 0:
		said = failures[len(failures)-1].Message
	}
	fmt.Fprintf(s.out, "%-9s %-42s %-10s %4d  %s\n", d.Name, d.wrong, j.State, j.Token, said)
	return nil
}

// event prints a retry, or the end of a call that had faults.
func (s *screen) event(ctx context.Context, e *retry.Event) {
	if e.Kind == retry.Succeeded {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.clock.Now().Sub(s.clock.start)
	fmt.Fprintf(s.out, "%7.1f s  %-9s %-22s ", at.Seconds(), retry.From(ctx).Correlation, e.Operation)
	what := string(e.Class)
	if e.Status != 0 {
		what = fmt.Sprintf("%d %s", e.Status, e.Class)
	}
	sends := "1 send"
	if e.Sends != 1 {
		sends = fmt.Sprintf("%d sends", e.Sends)
	}
	delay := e.Delay.Round(100 * time.Millisecond)
	switch e.Kind {
	case retry.Retrying:
		fmt.Fprintf(s.out, "%s: retry %d of %d in %s\n", what, e.Retry, e.MaxRetries, delay)
	case retry.Recovered:
		fmt.Fprintf(s.out, "recovered after %s\n", sends)
	case retry.Rescheduled:
		fmt.Fprintf(s.out, "%s after %s: the job is due again in %s\n", what, sends, delay)
	default:
		fmt.Fprintf(s.out, "%s after %s: %s\n", what, sends, e.Kind)
	}
}
