package selfbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/seed"
	"github.com/redrive/redrive/job"
)

const (
	serverMemoryMax = 300_000_000 // highest accepted memory of the server in bytes
	seededEnv       = "REDRIVE_BENCH_SEEDED_DSN"
)

// httpReadFigures prints the p99 of each read over HTTP beside the database with many jobs, the
// rate of an export, and the memory of the server, which is another process.
func (b *bencher) httpReadFigures(ctx context.Context, p *printer, in Seeded) (err error) {
	on := "SQLite"
	if in.DSN != "" {
		on = "PostgreSQL"
	}
	if err := Seed(ctx, in, io.Discard, b.log); err != nil {
		return err
	}
	s, err := startSeededServer(ctx, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	r := httpReader{url: s.url, shape: in.shape(), now: s.now}
	for _, read := range r.all() {
		took, err := read.measure(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", read.name, err)
		}
		fmt.Fprintf(b.log, "%-70s p50 %9.2f ms, p99 %9.2f ms\n", read.name, milliseconds(took.at(0.5)), milliseconds(took.at(0.99)))
		if err := p.below(fmt.Sprintf("%s over HTTP beside %d jobs on %s, p99", read.name, r.shape.Jobs(), on), took.at(0.99), read.most); err != nil {
			return err
		}
	}
	for _, format := range []string{"ndjson", "csv"} {
		rows, took, err := r.export(ctx, format)
		if err != nil {
			return fmt.Errorf("export as %s: %w", format, err)
		}
		rate := float64(rows) / took.Seconds()
		name := fmt.Sprintf("export of %d dead letters as %s over HTTP on %s", rows, format, on)
		if err := p.print(Figure{name, fmt.Sprintf(">= %d/s", exportLeast), round(rate), "rows/s", 0, rate >= exportLeast}); err != nil {
			return err
		}
	}
	peak, err := s.peak()
	if err != nil {
		return err
	}
	return p.print(Figure{"memory of the server at most, with all these reads, on " + on, "< 300 MB", round(float64(peak) / 1e6), "MB", 0, peak < serverMemoryMax})
}

// seededServer is a process that serves the database with many jobs.
type seededServer struct {
	cmd *exec.Cmd
	in  io.Closer
	url string
	now job.Micros // the end of the history
}

func startSeededServer(ctx context.Context, in Seeded) (*seededServer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &seededServer{cmd: exec.CommandContext(ctx, self, "bench", "child", "serve", strconv.Itoa(in.Over), in.Dir)}
	s.cmd.Env, s.cmd.Stderr = append(os.Environ(), seededEnv+"="+in.DSN), os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fscanln(out, &s.url, &s.now); err != nil {
		return nil, errors.Join(fmt.Errorf("the process with the server printed no address: %w", err), s.end())
	}
	return s, nil
}

func (s *seededServer) peak() (int64, error) {
	return peakMemoryOf(s.cmd.Process.Pid)
}

func (s *seededServer) end() error { return errors.Join(s.in.Close(), s.cmd.Wait()) }

// childServe serves the database with many jobs until its input ends. Nothing is swept from it.
func childServe(ctx context.Context, input io.Reader, out io.Writer, over, dir, dsn string) (err error) {
	n, err := strconv.Atoi(over)
	if err != nil {
		return err
	}
	in := Seeded{Dir: dir, DSN: dsn, Over: n}
	cache, err := in.cache(io.Discard)
	if err != nil {
		return err
	}
	s, _, err := openSeeded(ctx, cache, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	temp, err := os.MkdirTemp("", "redrive-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	client, err := redrive.New(s.Store, &redrive.Config{TempDir: filepath.Join(temp, "tmp"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	began := time.Now()
	h, err := newHTTPServer(client, func() time.Time { return s.now.Time().Add(time.Since(began)) })
	if err != nil {
		return err
	}
	web, address, err := listenHTTP(ctx, h)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, address, int64(s.now))
	_, err = io.Copy(io.Discard, input)
	h.Stop()
	return errors.Join(err, web.Close())
}

// httpReader has what the measured reads ask for.
type httpReader struct {
	url   string
	shape seed.Shape
	now   job.Micros
}

// get reads a path to its end and returns the body.
func (r *httpReader) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK && got.StatusCode != http.StatusServiceUnavailable {
		err = fmt.Errorf("GET %s: %s: %s", path, got.Status, body)
	}
	return body, err
}

// export reads all dead letters and returns their number.
func (r *httpReader) export(ctx context.Context, format string) (rows int, took time.Duration, err error) {
	began := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/api/admin/dlq/export?format="+format, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer got.Body.Close()
	buffer := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = got.Body.Read(buffer)
		rows += bytes.Count(buffer[:n], []byte("\n"))
	}
	if !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	if got.StatusCode != http.StatusOK || got.Trailer.Get("X-Export-Complete") == "" {
		return 0, 0, fmt.Errorf("the export was answered with %s and is not whole", got.Status)
	}
	return rows - 1, time.Since(began), nil // without the last line or the line of headings
}

// all returns the measured reads. {…} in a path stands for something else in each call.
func (r *httpReader) all() []read {
	var reads []read
	for _, row := range []struct {
		path string
		most time.Duration
	}{
		{"/api/jobs", readMax}, {"/api/jobs?limit=500", readMax}, {"/api/jobs?state=dead", readMax}, {"/api/jobs?state=waiting,retrying&order=due", readMax},
		{"/api/jobs?order=ended", readMax}, {"/api/jobs?kind={kind}", readMax}, {"/api/jobs?queue={queue}", readMax},
		{"/api/jobs?owner={owner}", readMax}, {"/api/jobs?owner={owner}&state=dead", readMax}, {"/api/jobs?owner={large}", readMax}, {"/api/jobs?owner={large}&state=retrying", readMax},
		{"/api/jobs?owner={large}&order=ended", readMax}, {"/api/jobs?correlation={correlation}", readMax}, {"/api/jobs?group={group}", readMax},
		{"/api/jobs?state=retrying&class={class}", readMax}, {"/api/jobs?state=dead&class={class}&order=ended", readMax}, {"/api/jobs?text=nowhere", readMax},
		{"/api/jobs?attr=customer%3Dnone", readMax}, {"/api/jobs?until={before}", readMax},
		{"/api/jobs/{id}", readMax}, {"/api/jobs/{id}/explain", readMax}, {"/api/jobs/{id}/notes", readMax},
		{"/api/admin/dlq", readMax}, {"/api/admin/dlq?page=100", readMax}, {"/api/admin/dlq?status=resolved", readMax}, {"/api/admin/dlq?task_type={kind}", readMax},
		{"/api/admin/dlq?queue={queue}", readMax}, {"/api/admin/dlq?owner={owner}", readMax}, {"/api/admin/dlq?class={class}", readMax}, {"/api/admin/dlq?group={group}", readMax},
		{"/api/admin/dlq?correlation={correlation}", readMax}, {"/api/admin/dlq?to_date={before}", readMax}, {"/api/admin/dlq?text=nowhere", readMax},
		{"/api/admin/dlq/stats", readMax},
		{"/api/groups", groupListMax}, {"/api/groups?order=largest", groupListMax}, {"/api/groups?kind={kind}", groupListMax}, {"/api/groups?class={class}", groupListMax},
		{"/api/groups?pending=true", groupListMax}, {"/api/groups/{group}", readMax},
		{"/api/redrives", readMax}, {"/api/queues", readMax}, {"/api/processes", readMax}, {"/api/schedules", readMax}, {"/api/kinds", readMax}, {"/api/overview", readMax},
		{"/api/figures", readMax}, {"/api/series", readMax}, {"/api/series?since=24h&step=1h&by=queue", readMax}, {"/api/due?minutes=120", readMax},
		{"/api/policies", readMax}, {"/api/audit", readMax}, {"/api/audit?actor=ann", readMax}, {"/api/audit?action=queue.", readMax}, {"/api/keys", readMax},
		{"/api/events", readMax}, {"/api/events?topic=job:{id}", readMax},
	} {
		reads = append(reads, read{"GET " + row.path, row.most, func(ctx context.Context, i int) error {
			_, err := r.get(ctx, r.fill(row.path, i))
			return err
		}})
	}
	return reads
}

// fill puts values into a path.
func (r *httpReader) fill(path string, i int) string {
	group, class := r.shape.Group(pick(i, r.shape.Groups))
	id := job.ID(1 + i*104_729%r.shape.Jobs())
	return strings.NewReplacer(
		"{id}", id.String(), "{kind}", r.shape.Kind(pick(i, r.shape.Kinds)), "{queue}", r.shape.Queue(pick(i, r.shape.Kinds)),
		"{owner}", r.shape.Owner(pick(i, r.shape.Owners)), "{large}", r.shape.Owner(i%5%r.shape.Owners), "{group}", url.QueryEscape(group), "{class}", class,
		"{correlation}", r.shape.Correlation(job.ID(1+pick(i, max(1, r.shape.Jobs()/20))*20)),
		"{before}", url.QueryEscape(r.now.Add(-time.Duration(1+pick(i, 20))*time.Hour).Time().UTC().Format(time.RFC3339)),
	).Replace(path)
}
