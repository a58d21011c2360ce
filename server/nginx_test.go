package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server"
)

// nginxReadTimeout is how long nginx by default waits for the next bytes of an answer.
const nginxReadTimeout = 60 * time.Second

// behindNginx returns the site as it is reached through nginx, with nothing but proxy_pass and the
// given settings of the location.
func (s *site) behindNginx(settings string) *site {
	s.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			s.Skip("nginx is not installed: make servers installs it")
		}
	}
	dir := s.TempDir()
	l, err := (&net.ListenConfig{}).Listen(s.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	address := l.Addr().String()
	var temp strings.Builder
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temp, "%s_temp_path %s/%s;\n", name, dir, name)
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // its folder belongs to the user of the test
	}
	config := fmt.Sprintf(`daemon off; %s pid %s/pid; error_log stderr; worker_processes 1;
events {}
http {
access_log off; %s
server { listen %s; location / { proxy_pass %s; %s } }
}`, user, dir, temp.String(), address, s.url, settings)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		s.Fatal(err)
	}
	if err := l.Close(); err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command(program, "-e", "stderr", "-c", path, "-p", dir) // without a context: a signal stops it, so that its workers end too
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // no error check: it may have ended
		<-ended
	})
	for {
		conn, err := (&net.Dialer{}).DialContext(s.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			s.Fatalf("nginx: %v\n%s", err, said.String())
		default: // it does not listen yet
		}
	}
	through := *s
	through.url = "http://" + address
	return &through
}

// promptly fails the test if the median of the times is too long. A proxy that buffers gives small
// frames only after seconds or never.
func promptly(t *testing.T, what string, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	if median := took[len(took)/2]; median >= 200*time.Millisecond {
		t.Errorf("%s through nginx: %s (median of %d), want less than 200 ms", what, median, len(took))
	}
}

// nginx in front, with its default settings: frames and the answers of requests that wait come at once, and an idle
// stream has several heartbeats within the time after which nginx gives a server up.
//
// part of: N1, Q11
func TestTrap16_NginxPassesFramesAndHeldAnswersOnAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
	release := make(chan struct{})
	redrive.HandleRaw(s.client, "held", func(context.Context, *redrive.Job[[]byte]) error { <-release; return nil }, nil)
	proxied := s.behindNginx("")
	l := proxied.stream("?topic=kind:render", root)
	if l.header.Get("X-Accel-Buffering") != "" {
		t.Error("nginx has passed X-Accel-Buffering on, so it has not obeyed it")
	}
	const frames = 20
	var took []time.Duration
	for range frames {
		began := time.Now()
		id := s.enqueue("render", "")
		if f := l.next(); f.name != "job.enqueued" || !strings.Contains(f.data, id.String()) {
			t.Fatalf("got %+v, want the enqueue of job %d", f, id)
		}
		took = append(took, time.Since(began))
	}
	promptly(t, "a frame", took)

	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.client.Run(ctx) }()
	took = nil
	for range 5 {
		id := s.enqueue("held", "")
		answered := make(chan *answer)
		go func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, proxied.url+"/api/jobs/"+id.String()+"?wait=30s", http.NoBody)
			if err != nil {
				panic(err)
			}
			name, value, _ := strings.Cut(root, ": ")
			r.Header.Set(name, value)
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				answered <- nil
				return
			}
			defer got.Body.Close()
			answered <- &answer{status: got.StatusCode}
		}()
		release <- struct{}{}
		began := time.Now()
		if a := <-answered; a == nil || a.status != http.StatusOK {
			t.Fatalf("the request that waits: got %+v, want 200", a)
		}
		took = append(took, time.Since(began))
	}
	promptly(t, "the answer of a request that waits", took)
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if api.HeartbeatDefault*3 > nginxReadTimeout || api.WaitMax*3/2 > nginxReadTimeout {
		t.Errorf("a heartbeat every %s and requests that wait for %s: want several within the %s of nginx", api.HeartbeatDefault, api.WaitMax, nginxReadTimeout)
	}
}

// Heartbeats keep a stream open beyond the time limit of nginx, here 3 s; without them nginx ends it.
//
// part of: N1
func TestTrap16_HeartbeatsOutliveTheLimitOfNginx(t *testing.T) {
	t.Parallel()
	const limit = 3 * time.Second
	listenFor := func(heartbeat time.Duration) *listener {
		s := newSite(t, func(_ *redrive.Config, o *server.Options) { o.Heartbeat = heartbeat })
		_, root := s.newKey(`{"name":"root","roles":["administer"]}`)
		return s.behindNginx("proxy_read_timeout 3s;").stream("", root)
	}
	quiet, alive := listenFor(time.Hour), listenFor(limit/15)
	for began := time.Now(); time.Since(began) < limit*5/3; {
		alive.next()
	}
	for range quiet.frames { // until nginx ends it
	}
}
