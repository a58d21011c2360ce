package deliver_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/deliver"
	"github.com/redrive/redrive/notify/mail"
	"github.com/redrive/redrive/store/sqlite"
)

// mails is a mail server that calls a function with each mail that it has taken, before it answers.
type mails struct {
	taken func(raw string)
	away  atomic.Bool              // whether it closes connections at once
	rcpt  func() error             // its answer to RCPT; nil means that all are known
	data  func(c *smtp.Conn) error // its answer to a mail that it has taken
	port  int
	pem   []byte // its certificate
	roots *x509.CertPool
}

func newMails(t testing.TB, taken func(raw string)) *mails {
	t.Helper()
	web := httptest.NewTLSServer(nil) // only for its certificate
	t.Cleanup(web.Close)
	m := &mails{taken: taken, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), roots: x509.NewCertPool()}
	m.roots.AddCert(web.Certificate())
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return session{m, c}, nil }))
	srv.Domain, srv.TLSConfig = "127.0.0.1", &tls.Config{Certificates: web.TLS.Certificates}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.port = l.Addr().(*net.TCPAddr).Port
	go func() { _ = srv.Serve(gate{l, m}) }()
	t.Cleanup(func() { _ = srv.Close() })
	return m
}

// gate is a listener that closes connections while its server is away.
type gate struct {
	net.Listener
	server *mails
}

func (g gate) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil || !g.server.away.Load() {
			return c, err
		}
		_ = c.Close()
	}
}

func (m *mails) settings() map[string]mail.Settings {
	return map[string]mail.Settings{"mail": {Host: "127.0.0.1", Port: m.port, RootCAs: m.roots, From: "Copies <no-reply@example.com>"}}
}

type session struct {
	server *mails
	conn   *smtp.Conn
}

func (session) Mail(string, *smtp.MailOptions) error { return nil }

func (s session) Rcpt(string, *smtp.RcptOptions) error {
	if s.server.rcpt != nil {
		return s.server.rcpt()
	}
	return nil
}

func (session) Reset()        {}
func (session) Logout() error { return nil }

func (s session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err == nil {
		s.server.taken(string(raw))
		if s.server.data != nil {
			return s.server.data(s.conn)
		}
	}
	return err
}

func header(raw, name string) string {
	for line := range strings.Lines(raw) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// workDir is set in the process that the test kills.
const workDir = "REDRIVE_DELIVER_DIR"

// A process that is killed after the server has taken a mail, and before the outcome is committed,
// sends the mail again in its next run: the same Message-ID and the same date.
// part of: N2, I3
func TestN2_Trap16_AKillAfterDATARepeatsTheSameMessageID(t *testing.T) {
	if dir := os.Getenv(workDir); dir != "" {
		workUntilKilled(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	var got []string
	var child *exec.Cmd
	ended := make(chan struct{})
	server := newMails(t, func(raw string) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, raw); len(got) <= 2 {
			_ = child.Process.Kill() // SIGKILL: the mail is taken, and the outcome is not written
		} else if len(got) == 3 {
			close(ended)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "cert.pem"), server.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := notify.Notice{V: 1, On: notify.BatchPartial, ID: strings.Repeat("ab", 16), Channel: "mail", To: "ann@example.com", Kind: notify.KindMail, Key: "k",
		Facts: notify.Facts{Batch: batch("Spring")}, MadeAt: notify.Time(job.At(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))}
	made, err := n.New()
	if err != nil {
		t.Fatal(err)
	}
	if made.ID, err = s.ReserveIDs(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), []job.New{made}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		mu.Lock()
		child = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), workDir+"="+dir, "REDRIVE_DELIVER_PORT="+strconv.Itoa(server.port))
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		running := child
		mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() && !strings.Contains(lines.Text(), "completed") {
			// the process ends by itself when it has completed the job
		}
		_ = running.Wait()
	}
	<-ended
	mu.Lock()
	defer mu.Unlock()
	for _, raw := range got {
		if id, date := header(raw, "Message-ID"), header(raw, "Date"); id != "<"+n.ID+"@example.com>" || date != header(got[0], "Date") {
			t.Errorf("a repeat has the Message-ID %s and the date %s, want the same each time", id, date)
		}
	}
	if len(got) != 3 {
		t.Errorf("the server took %d mails, want 3: two that were repeated after a kill, and the last", len(got))
	}
	if j, err := s.Get(t.Context(), made.ID); err != nil || j.State != job.Completed || j.Counters.Crashes != 2 {
		t.Errorf("the job is %s with %d crashes, error %v; want completed with 2", j.State, j.Counters.Crashes, err)
	}
}

// workUntilKilled sends notices until the job is completed, or until the test kills this process.
func workUntilKilled(t *testing.T, dir string) {
	cert, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(os.Getenv("REDRIVE_DELIVER_PORT"))
	if err != nil {
		t.Fatal(err)
	}
	m := &mails{port: port, roots: x509.NewCertPool()}
	m.roots.AppendCertsFromPEM(cert)
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	c, err := redrive.New(s, &redrive.Config{Lease: 300 * time.Millisecond, RescueInterval: 100 * time.Millisecond, TempDir: t.TempDir(),
		OnOutcome: func(_ context.Context, o redrive.Outcome) {
			fmt.Println("completed", o.ID)
			stop()
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := deliver.Install(c, deliver.Options{Mail: m.settings()}); err != nil {
		t.Fatal(err)
	}
	_ = c.Run(ctx)
}
