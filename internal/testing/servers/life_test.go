//go:build unix

package servers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redrive/redrive/internal/testing/servers"
)

// roleVar is the environment variable that says how the child process ends after it has started
// servers.
const roleVar = "SERVERS_TEST_ROLE"

// patience is the time limit of a wait that should end at once.
const patience = time.Minute

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		play(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// play starts servers, prints their processes and directories, and ends without stopping them.
func play(role string) {
	p, err := servers.StartPostgres(context.Background(), &servers.PostgresOptions{})
	if err != nil {
		fmt.Println(err)
		syscall.Exit(3)
	}
	if role == "paused" {
		if err := p.Pause(); err != nil {
			fmt.Println(err)
			syscall.Exit(3)
		}
	}
	fmt.Println(p.PID(), filepath.Dir(p.Dir()))
	switch role {
	case "panic":
		panic("on purpose")
	case "exit":
		syscall.Exit(1)
	default:
		_, _ = io.Copy(io.Discard, os.Stdin) // wait until the process is killed
	}
}

// notShort skips a test under -short that would start a server.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short starts no server")
	}
}

// needs skips a test where a server is not installed.
func needs(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, servers.ErrMissing) {
		t.Skipf("the server is not installed: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The server and its directory are removed after any kind of end of the process that started the server.
func TestAServerDoesNotOutliveItsProcess(t *testing.T) {
	t.Parallel()
	notShort(t)
	_, err := servers.FindPostgres(t.Context())
	needs(t, err)
	for _, role := range []string{"panic", "exit", "killed", "paused"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), roleVar+"="+role)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var pid int
			var dir string
			if _, err := fmt.Sscan(line, &pid, &dir); err != nil {
				t.Fatalf("read the process id and the directory from the line %q: got error %v, want none", line, err)
			}
			_ = cmd.Process.Kill() // end the process if it has not ended by itself
			if err := cmd.Wait(); err == nil {
				t.Error("the process that started the server ended without an error, want the planned failure")
			}
			gone(t, pid, dir)
		})
	}
}

// gone waits until a process and a directory are gone. It polls, because the process is not a child
// of this one.
func gone(t *testing.T, pid int, dir string) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		_, err := os.Stat(dir)
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		ended := errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ")
		if errors.Is(err, os.ErrNotExist) && ended {
			return
		}
		select {
		case <-look.C:
		case <-limit.C:
			t.Fatalf("after %v: process %d has ended: %t, want true; look-up of its directory %s: got the error %v, want os.ErrNotExist", patience, pid, ended, dir, err)
		}
	}
}

func TestRedisAsksForItsPassword(t *testing.T) {
	t.Parallel()
	notShort(t)
	r, err := servers.StartRedis(t.Context(), &servers.RedisOptions{})
	needs(t, err)
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	u, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for _, step := range []struct{ say, want string }{
		{"PING", "-NOAUTH"}, {"AUTH " + password, "+OK"}, {"PING", "+PONG"}, {"CONFIG GET appendonly", "*2"},
	} {
		if _, err := fmt.Fprintf(conn, "%s\r\n", step.say); err != nil {
			t.Fatal(err)
		}
		if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, step.want) {
			t.Errorf("the answer to %s is %q with the error %v, want %s", step.say, line, err, step.want)
		}
	}
}

func TestABouncerWantsTheWholeAddress(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"host=localhost", "postgres:///db", "postgres://localhost/db", "::"} {
		b, err := servers.StartBouncer(t.Context(), dsn, &servers.BouncerOptions{})
		if b != nil || err == nil {
			t.Errorf("StartBouncer accepted the DSN %q, want a refusal", dsn)
		}
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	notShort(t)
	_, err := servers.FindPostgres(t.Context())
	needs(t, err)
	p, err := servers.StartPostgres(t.Context(), &servers.PostgresOptions{Settings: map[string]string{"shared_buffers": "many"}})
	if p != nil || err == nil || !strings.Contains(err.Error(), "shared_buffers") {
		t.Errorf("got the error %v, want an error that names the setting", err)
	}
}
