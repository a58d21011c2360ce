package selfbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/redrive/redrive"
)

const (
	submitBatch       = 100  // number of jobs of a submit in batches
	submitConnections = 100  // number of connections of single submits
	submitBatchShare  = 0.55 // lowest accepted share of the rate of the Go API
	submitOneShare    = 0.5  // lowest accepted share of the rate of a handler that does nothing, on SQLite
)

// submitFigures prints the rates of submits over HTTP. Client and server share this process, as
// the callers of the Go API share it with the store.
func (b *bencher) submitFigures(ctx context.Context, p *printer, place httpPlace) error {
	n := b.load.Jobs
	r, err := b.measure(ctx,
		scenario{"Go API, batches of 100", n, func(ctx context.Context, dir string, jobs int) (time.Duration, error) {
			return b.submitGo(ctx, place, dir, jobs)
		}},
		scenario{"HTTP, batches of 100", n, func(ctx context.Context, dir string, jobs int) (time.Duration, error) {
			return b.submitHTTP(ctx, place, dir, jobs, submitBatch, 1)
		}},
		scenario{"HTTP, one by one", n / 2, func(ctx context.Context, dir string, jobs int) (time.Duration, error) {
			return b.submitHTTP(ctx, place, dir, jobs, 1, submitConnections)
		}},
		scenario{"bare handler, one by one", n / 2, func(ctx context.Context, _ string, jobs int) (took time.Duration, err error) {
			web, url, err := listenHTTP(ctx, http.HandlerFunc(bareHandler))
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, web.Close()) }()
			return b.post(ctx, url, jobs, 1, submitConnections)
		}},
	)
	if err != nil {
		return err
	}
	oneShare := submitOneShare
	if place.dsn != "" {
		oneShare = 0
	}
	return errors.Join(
		p.ratio("submit over HTTP in batches of 100 on one connection, "+place.name, "jobs/s", r[1].PerSecond, "the Go API", r[0].PerSecond, submitBatchShare),
		p.ratio("submit over HTTP one by one from 100 connections, "+place.name, "jobs/s", r[2].PerSecond, "a bare handler", r[3].PerSecond, oneShare),
	)
}

// submitGo enqueues batches through the Go API.
func (b *bencher) submitGo(ctx context.Context, place httpPlace, dir string, jobs int) (took time.Duration, err error) {
	site, err := place.open(ctx, dir, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	payload := b.payload()
	began := time.Now()
	specs := make([]redrive.Spec, submitBatch)
	for range jobs / submitBatch {
		for i := range specs {
			specs[i] = redrive.NewRaw("noop", payload, nil)
		}
		if _, err := site.client.EnqueueMany(ctx, specs); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// submitHTTP enqueues batches through HTTP.
func (b *bencher) submitHTTP(ctx context.Context, place httpPlace, dir string, jobs, batch, connections int) (took time.Duration, err error) {
	site, err := place.open(ctx, dir, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	return b.post(ctx, site.url, jobs, batch, connections)
}

// payload returns a JSON string of the size of a payload.
func (b *bencher) payload() []byte { return (*bench)(nil).bytes(b.load.Payload) }

// post sends jobs. The body is made before, and the answers are read but not parsed.
func (b *bencher) post(ctx context.Context, url string, jobs, batch, connections int) (time.Duration, error) {
	one := fmt.Appendf(nil, `{"kind":"noop","payload":%s}`, b.payload())
	body := one
	if batch > 1 {
		body = append(append([]byte("["), bytes.TrimSuffix(bytes.Repeat(append(one, ','), batch), []byte(","))...), ']')
	}
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	began := time.Now()
	err := inParallel(connections, jobs/batch, func(int) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/jobs", bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		got, err := client.Do(r)
		if err != nil {
			return err
		}
		defer got.Body.Close()
		if got.StatusCode != http.StatusCreated {
			return fmt.Errorf("the submit was answered with %s", got.Status)
		}
		_, err = io.Copy(io.Discard, got.Body)
		return err
	})
	return time.Since(began), err
}
