package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// run runs the command in a directory and returns its standard output, its standard error and its
// exit code.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), "redrive", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), code
}

// becomes asks until the answer is yes, at most 30 seconds.
func becomes(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so after 30 s", what)
		}
	}
}

// part of: X2
//
// The first key closes the door of a server that runs, within five seconds; a revoked key is
// refused as soon.
func TestX2_ServeNeedsTheFirstKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir, "--db", "jobs.db")
	const job = `{"kind":"k","payload":1}`
	if status, body := s.request(t.Context(), "POST", "/api/jobs", job); status != 201 {
		t.Fatalf("without keys: got %d %s, want 201", status, body)
	}
	key, _, _ := run(t, dir, "keys", "create", "shop", "--role", "submit", "--db", "jobs.db")
	key = strings.TrimSpace(key)
	began := time.Now()
	becomes(t, "a request without a key is refused", func() bool {
		status, _ := s.request(t.Context(), "POST", "/api/jobs", job)
		return status == 401
	})
	if status, body := s.request(t.Context(), "POST", "/api/jobs", job, "Authorization: Bearer "+key); status != 201 {
		t.Errorf("with the key: got %d %s, want 201", status, body)
	}
	if _, errs, code := run(t, dir, "keys", "revoke", "shop", "--db", "jobs.db"); code != 0 {
		t.Fatal(errs)
	}
	becomes(t, "the revoked key is refused", func() bool {
		status, _ := s.request(t.Context(), "POST", "/api/jobs", job, "Authorization: Bearer "+key)
		return status == 401
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("both changes together took %s, want at most 10 s", took)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(s.log.String(), key[20:40]) {
		t.Errorf("the log has the key:\n%s", s.log)
	}
	again := serve(t, dir, "--db", "jobs.db")
	if !strings.Contains(again.start, `-H "Authorization: Bearer $KEY"`) {
		t.Errorf("the server prints %q, want a request with a key", again.start)
	}
}

// part of: X2
//
// What would let strangers in is refused with the setting that is wrong and the cure.
func TestX2_ServeRefusesOpenDoors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		config, want string
		args         []string
	}{
		"no keys": {"", "the database has no active access key; make one first: redrive keys create NAME --role administer", []string{"--listen", "0.0.0.0:0", "--insecure-http"}},
		"plain":   {"", "Set `server.tls`, or listen on 127.0.0.1 behind a proxy with TLS; or, if the network is trusted, add --insecure-http", []string{"--listen", "0.0.0.0:0"}},
		"open":    {"server: {auth: none}", "add the names by which they call it to `server.hosts`", []string{"--listen", "0.0.0.0:0", "--insecure-http"}},
		"proxy":   {"server: {auth: proxy, proxy: {roles: {a: view}}}", "proxy.yaml:2:16: server.auth is proxy, but server.proxy.trusted names no proxy: add the addresses of the proxy", nil},
		"roles":   {"server: {auth: proxy, proxy: {trusted: [10.0.0.0/8]}}", "roles.yaml:2:16: server.auth is proxy, but server.proxy.roles gives nobody a role: add the roles of groups", nil},
	} {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".yaml")
		text := "database: " + name + ".db\n" + c.config + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, code := run(t, dir, append([]string{"serve", "--config", file}, c.args...)...)
		if code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: got exit code %d and %q, want %q", name, code, errs, c.want)
		}
		if _, err := os.Stat(filepath.Join(dir, name+".db")); err == nil && name != "no keys" {
			t.Errorf("%s: the refused server has made a database", name)
		}
	}
}
