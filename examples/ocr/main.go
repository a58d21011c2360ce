// Command ocr reads scanned pages: documents go through an OCR API, a language-model API and object
// storage, all of which sometimes fail. Each call has its own retry strategy in memory. A call that
// runs out of retries hands its job over to the queue. See README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/examples/ocr/world"
	"github.com/redrive/redrive/policy/policyfile"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

func main() {
	dir := flag.String("dir", "", "folder for the store, the log and the objects (default: a new temporary one)")
	times := flag.Int("faster", 100, "how many times faster time passes; 1 is real time")
	flag.Parse()
	if *times < 1 || *times > 10_000 {
		log.Fatalf("-faster %d: must be from 1 to 10000", *times)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *dir, *times); err != nil {
		log.Fatal(err) //nolint:gocritic // stop would only release a signal handler
	}
}

// run runs the whole demonstration in a folder.
func run(ctx context.Context, out io.Writer, dir string, times int) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "redrive-ocr-"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	plan := &world.Plan{}
	bucket, err := world.OpenBucket(filepath.Join(dir, "objects"), plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	address, closeAPIs, err := listen(ctx, world.APIs(plan))
	if err != nil {
		return err
	}
	defer closeAPIs()
	lines, err := os.Create(filepath.Join(dir, "calls.jsonl"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lines.Close()) }()

	clock := newFast(times)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "ocr.db"), &sqlite.Options{Clock: clock.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	show := &screen{out: out, clock: clock}
	client, err := newClient(st, &settings{
		APIs: address, VisionKey: world.VisionKey, Bucket: bucket,
		ModelKeys: map[string]string{"": world.ModelKey, "former": "a-key-that-was-revoked"},
		Change: func(o *retry.Options) {
			o.Clock, o.Logger = clock, slog.New(retry.LogHandler(lines, slog.LevelInfo))
			o.Hooks = retry.Hooks{Retry: show.event, End: show.event}
		},
	}, &redrive.Config{
		Clock: clock, Lease: time.Hour, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]redrive.Queue{redrive.DefaultQueue: {Workers: 2}},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "All files are in %s; time passes %d times faster.\n", dir, times)
	for _, act := range acts {
		if err := show.act(ctx, client, bucket, plan, act); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nThe log lines of the calls: %s\n", lines.Name())
	return nil
}

// newClient returns the client as a real program would make it: with a policy preset for the jobs,
// retry presets for the calls, and the handler.
func newClient(st store.Store, s *settings, config *redrive.Config) (*redrive.Client, error) {
	preset, err := policyfile.Preset("ocr")
	if err != nil {
		return nil, err
	}
	config.Policy = preset.Policy
	client, err := redrive.New(st, config)
	if err != nil {
		return nil, err
	}
	c, err := newCalls(s)
	if err != nil {
		return nil, err
	}
	redrive.Handle(client, document, c.process, nil)
	return client, nil
}

// listen serves the APIs on this machine until the returned function is called.
func listen(ctx context.Context, h http.Handler) (address string, closing func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	var serving sync.WaitGroup
	serving.Go(func() { server.Serve(l) }) //nolint:errcheck // ends by Close
	return "http://" + l.Addr().String(), func() {
		server.Close() //nolint:errcheck // calls in progress are over
		serving.Wait()
	}, nil
}

// resultOf decodes the result of a job.
func resultOf(text []byte) (r result) {
	if json.Unmarshal(text, &r) != nil {
		return result{}
	}
	return r
}
