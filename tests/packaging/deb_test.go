// Package packaging_test checks what redrive is shipped in: the Debian package with its service, and the
// container file.
package packaging_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// part of: I1
//
// The package has its files with their modes; as root on Debian it is installed, its service runs a job
// as its user, an upgrade keeps the configuration, a removal the jobs, and a purge nothing.
func TestDeb_IsInstalledAndItsServiceRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("the package is built and installed by the long tests only")
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not installed: the package is not built")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "redrive")
	command(t, "go", "build", "-trimpath", "-o", program, "../../cmd/redrive")
	command(t, "sh", "../../scripts/deb.sh", dir, program)
	found, err := filepath.Glob(filepath.Join(dir, "redrive_*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got the packages %v, error %v, want one", found, err)
	}
	deb := found[0]
	contents := command(t, "dpkg-deb", "--contents", deb)
	for _, want := range []string{`-rwxr-xr-x root/root .* \./usr/bin/redrive\n`, `-rw-r--r-- root/root .* \./lib/systemd/system/redrive\.service\n`, `-rw-r--r-- root/root .* \./etc/redrive/redrive\.yaml\n`} {
		if !regexp.MustCompile(want).MatchString(contents) {
			t.Errorf("the package has no %q:\n%s", want, contents)
		}
	}
	if os.Getenv("REDRIVE_TEST_INSTALL") == "no" || os.Getuid() != 0 {
		t.Skip("the package is built, but not installed: this needs root, and REDRIVE_TEST_INSTALL must not be no")
	}
	if _, err := exec.LookPath("adduser"); err != nil {
		t.Skip("the package is built, but not installed: adduser is not installed")
	}
	for _, path := range []string{"/usr/bin/redrive", "/etc/redrive", "/var/lib/redrive", "/lib/systemd/system/redrive.service"} {
		if _, err := os.Stat(path); err == nil {
			t.Skipf("the package is built, but not installed: this machine has %s, and the test would change it", path)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), "dpkg", "--purge", "redrive").CombinedOutput(); err != nil {
			t.Errorf("purge the package: %v\n%s", err, out)
		}
	})
	dpkg(t, "--install", deb)
	owner, err := user.Lookup("redrive")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("systemd-analyze"); err == nil {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "/lib/systemd/system/redrive.service").CombinedOutput()
		if err != nil || strings.Contains(string(out), "redrive.service:") {
			t.Errorf("systemd finds mistakes in the unit: %v\n%s", err, out)
		}
	} else {
		t.Log("systemd-analyze is not installed: the unit is not verified")
	}
	address := freePort(t)
	const file = "/etc/redrive/redrive.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mine := strings.Replace(string(text), "listen: 127.0.0.1:8080", "listen: "+address, 1)
	if err := os.WriteFile(file, []byte(mine), 0o640); err != nil { // the mode of the package
		t.Fatal(err)
	}
	command(t, "/usr/bin/redrive", "config", "check", file)
	stop := start(t, owner)
	url := "http://" + address
	waitFor(t, url+"/readyz", `"ready"`)
	answer, err := post(t, url+"/api/jobs", `{"kind":"echo","payload":{"n":1}}`)
	if err != nil || !strings.Contains(answer, `"id":"1"`) {
		t.Fatalf("submit: got %s, error %v", answer, err)
	}
	waitFor(t, url+"/api/jobs/1?wait=10s", `"state":"completed"`)
	stop()
	info, err := os.Stat("/var/lib/redrive/jobs.db")
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; strconv.Itoa(int(uid)) != owner.Uid || info.Mode().Perm() != 0o600 {
		t.Errorf("the database has the mode %v and belongs to %d, want 0600 and %s", info.Mode(), uid, owner.Uid)
	}
	dpkg(t, "--install", deb)
	if kept, err := os.ReadFile(file); err != nil || string(kept) != mine {
		t.Errorf("the second installation has changed the configuration, error %v", err)
	}
	dpkg(t, "--remove", "redrive")
	if _, err := os.Stat("/usr/bin/redrive"); err == nil {
		t.Error("the program is there after the removal")
	}
	if _, err := os.Stat("/var/lib/redrive/jobs.db"); err != nil {
		t.Errorf("the removal has removed the jobs: %v", err)
	}
	dpkg(t, "--purge", "redrive")
	for _, path := range []string{"/var/lib/redrive", "/etc/redrive"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there after the purge", path)
		}
	}
	if _, err := user.Lookup("redrive"); err == nil {
		if out, err := exec.CommandContext(t.Context(), "getent", "passwd", "redrive").Output(); err == nil {
			t.Errorf("the user is there after the purge: %s", out)
		}
	}
}

// dpkg runs dpkg. While another process has its lock, it tries again.
func dpkg(t *testing.T, args ...string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		out, err := exec.CommandContext(t.Context(), "dpkg", args...).CombinedOutput()
		if err == nil {
			return
		}
		if !bytes.Contains(out, []byte("lock")) || time.Now().After(deadline) {
			t.Fatalf("dpkg %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// start runs the service and returns the function that stops it. Where systemd does not run, it runs
// the command of the unit as the unit's user, with its environment, in its folder.
func start(t *testing.T, owner *user.User) (stop func()) {
	t.Helper()
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		command(t, "systemctl", "restart", "redrive.service")
		return func() { command(t, "systemctl", "stop", "redrive.service") }
	}
	t.Log("systemd does not run here: the test runs the command of the unit as its user")
	text, err := os.ReadFile("/lib/systemd/system/redrive.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			unit[name] = value
		}
	}
	if unit["User"] != owner.Username {
		t.Fatalf("the unit has the user %q, want %q", unit["User"], owner.Username)
	}
	uid, err := strconv.ParseUint(owner.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(owner.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(unit["ExecStart"])
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = unit["WorkingDirectory"], []string{unit["Environment"], "PATH=/usr/bin:/bin"}, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the service ended with %v\n%s", err, &log)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// waitFor asks until the answer has a text, at most a minute.
func waitFor(t *testing.T, url, want string) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(time.Minute); !strings.Contains(last, want); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: got %s, want %s", url, last, want)
		}
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		last, err = send(r)
		if err != nil {
			last = err.Error()
		}
	}
}

func post(t *testing.T, url, body string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	return send(r)
}

func send(r *http.Request) (string, error) {
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return fmt.Sprintf("%d %s", a.StatusCode, text), err
}
