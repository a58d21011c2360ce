package cli_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/sqlite"
)

// served is a process `redrive serve`.
type served struct {
	*testing.T
	cmd   *exec.Cmd
	url   string
	start string // what it has printed when it was ready
	log   *strings.Builder
}

var urlOf = regexp.MustCompile(`https?://[0-9.]+:\d+`)

// serve starts `redrive serve` in a directory, on a free port.
func serve(t *testing.T, dir string, args ...string) *served {
	t.Helper()
	return serveAt(t, dir, "127.0.0.1:0", args...)
}

// serveAt starts `redrive serve` in a directory. Without an address, it listens where the
// configuration says.
func serveAt(t *testing.T, dir, address string, args ...string) *served {
	t.Helper()
	s := &served{T: t, log: &strings.Builder{}}
	if address != "" {
		args = append([]string{"--listen", address}, args...)
	}
	s.cmd = exec.CommandContext(t.Context(), "redrive", append([]string{"serve"}, args...)...)
	s.cmd.Dir, s.cmd.Stderr = dir, s.log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGKILL) }
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for !strings.Contains(s.start, "curl") {
		line, err := lines.ReadString('\n')
		if err != nil {
			_ = s.cmd.Wait() // the log says why
			t.Fatalf("redrive serve ended: %v\n%s", err, s.log)
		}
		s.start += line
	}
	s.url = urlOf.FindString(s.start)
	go io.Copy(io.Discard, lines) //nolint:errcheck // the pipe is only kept open
	return s
}

// request sends a request and returns the status and the body. Headers are "Name: value".
func (s *served) request(ctx context.Context, method, path, body string, headers ...string) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// stop ends the process with SIGTERM and returns its error.
func (s *served) stop() error {
	s.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	return s.cmd.Wait()
}

// part of: I1, X1
//
// The curl line that the server prints submits a job. The commands of the configuration run it in
// the same process, and it is shown over HTTP. Then SIGTERM stops the server cleanly.
func TestServe_TheFirstJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "redrive.yaml"), []byte("kinds:\n  thumbnail: {command: [cat]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, "--work")
	line := regexp.MustCompile(`curl -d '(.*)' -H '(.*)' (\S+)`).FindStringSubmatch(s.start)
	if line == nil || !strings.HasPrefix(line[3], s.url) {
		t.Fatalf("got %q, want a curl line with the address", s.start)
	}
	status, body := s.request(t.Context(), "POST", strings.TrimPrefix(line[3], s.url), line[1])
	if status != http.StatusCreated || !strings.HasPrefix(body, `{"id":"1",`) {
		t.Fatalf("submit: got %d %s, want 201 with job 1", status, body)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		status, body = s.request(t.Context(), "GET", "/api/jobs/1", "")
		if status != http.StatusOK || time.Now().After(deadline) {
			t.Fatalf("got %d %s, want the job completed", status, body)
		}
		if strings.Contains(body, `"state":"completed"`) {
			break
		}
	}
	if !strings.Contains(body, `"result":{}`) {
		t.Errorf("got %s, want the payload as the result", body)
	}
	if err := s.stop(); err != nil {
		t.Errorf("stop: got %v, want exit code 0\n%s", err, s.log)
	}
}

// part of: I1, Q8
//
// A server that stops under load drops no job that it has acknowledged, answers waiting requests at once,
// and ends within 15 s.
func TestTrap41_AStopDropsNoAcknowledgedJob(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	if status, body := s.request(t.Context(), "POST", "/api/jobs", `{"kind":"late","payload":1,"delay_ms":3600000}`); status != http.StatusCreated {
		t.Fatalf("submit: got %d %s", status, body)
	}
	held := make(chan time.Duration, 1)
	go func() {
		began := time.Now()
		s.request(t.Context(), "GET", "/api/jobs/1?wait=30s", "")
		held <- time.Since(began)
	}()
	var mu sync.Mutex
	var acknowledged []string
	enough := make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/api/jobs", strings.NewReader(`[{"kind":"k","payload":1},{"kind":"k","payload":2}]`))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json")
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					return // the server has stopped
				}
				text, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				if answer.StatusCode != http.StatusCreated || err != nil {
					return
				}
				mu.Lock()
				for _, id := range idInText.FindAllStringSubmatch(string(text), -1) {
					if acknowledged = append(acknowledged, id[1]); len(acknowledged) == 400 {
						close(enough)
					}
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	began := time.Now()
	err := s.stop()
	took := time.Since(began)
	all.Wait()
	if err != nil || took > 15*time.Second {
		t.Errorf("the stop took %s with error %v, want at most 15 s and exit code 0\n%s", took, err, s.log)
	}
	if wait := <-held; wait > 29*time.Second {
		t.Errorf("the answer of the waiting request took %s, want it when the server stops", wait)
	}
	st, err := sqlite.Open(t.Context(), filepath.Join(s.cmd.Dir, "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, text := range acknowledged {
		id, err := job.ParseID(text)
		if err == nil {
			_, err = st.Get(t.Context(), id)
		}
		if err != nil {
			t.Errorf("job %s was acknowledged: %v", text, err)
		}
	}
}

var idInText = regexp.MustCompile(`"id":"(\d+)"`)

// part of: X2
//
// Without keys, the server listens on addresses of this machine only.
func TestServe_OtherAddressesAreRefused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":8080", "[::]:0", "192.0.2.1:80", "example.com:80", "8080"} {
		out, err := exec.CommandContext(t.Context(), "redrive", "serve", "--db", filepath.Join(t.TempDir(), "jobs.db"), "--listen", address).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), "--listen "+address) {
			t.Errorf("--listen %s: got %v and %q, want exit code 2", address, err, out)
		}
	}
}
