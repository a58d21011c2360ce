package docs_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgtest"
)

// part of: X2, N1, D4
//
// The commands of the section about several servers get the outputs of the page: two servers on one
// PostgreSQL database behind nginx, a key for each team, and a server that is killed.
func TestServer_SeveralServersBehindAProxy(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"curl", "nginx"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	page := read(t, "server.md")
	_, after, _ := strings.Cut(page, "\n### Several servers\n")
	section, _, _ := strings.Cut(after, "\n### ")
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "redrive"), "../cmd/redrive").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	ports := freePorts(t, "8080", "8081", "8082")
	settings := regexp.MustCompile("(?s)```yaml\n(kinds:.*?)```").FindStringSubmatch(page)
	proxy := regexp.MustCompile("(?s)```nginx\n(.*?)```").FindStringSubmatch(section)
	blocks := regexp.MustCompile("(?s)```console servers\n(.*?)```").FindAllStringSubmatch(section, -1)
	if settings == nil || proxy == nil || len(blocks) < 3 {
		t.Fatal("the page lacks the configuration, the configuration of nginx or the commands")
	}
	write(t, filepath.Join(dir, "redrive.yaml"), settings[1])
	startNginx(t, dir, ports.Replace(proxy[1]))
	w := &commands{T: t, dir: dir, ports: ports, database: pgtest.Database(t)}
	t.Cleanup(w.stop)
	for _, block := range blocks {
		for _, step := range strings.Split(block[1], "$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			w.run(command, want)
		}
	}
}

// commands runs the commands of the page in one folder, on one database.
type commands struct {
	*testing.T
	dir, database string
	ports         *strings.Replacer
}

func (w *commands) run(command, want string) {
	w.Helper()
	command = w.ports.Replace(strings.Replace(command, "curl ", "curl -sS --noproxy '*' ", 1))
	file, err := os.CreateTemp(w.dir, "output") // a server that goes on writes its log into its own file
	if err != nil {
		w.Fatal(err)
	}
	defer file.Close()
	// Run would wait for a pipe that a server in the background keeps open; it does not wait for a file.
	shell := exec.CommandContext(w.Context(), "sh", "-c", command)
	shell.Dir, shell.Stdout, shell.Stderr = w.dir, file, file
	shell.Env = append(os.Environ(), "PATH="+w.dir+":"+os.Getenv("PATH"), "REDRIVE_DB="+w.database)
	err = shell.Run()
	got, rerr := os.ReadFile(file.Name())
	if err != nil || rerr != nil {
		w.Fatalf("%s: %v %v\n%s", command, err, rerr, got)
	}
	if address := regexp.MustCompile(`--listen (\S+) `).FindStringSubmatch(command); address != nil {
		w.await(address[1])
		return
	}
	if cut := regexp.MustCompile(`(?m)^curl: \(28\).*$`); !matchesPage(want, cut.ReplaceAllString(string(got), "")) {
		w.Fatalf("%s\ngot:  %s\nwant: %s", command, got, want)
	}
}

// await waits until a server answers at an address.
func (w *commands) await(address string) {
	w.Helper()
	curl := exec.CommandContext(w.Context(), "curl", "-sS", "--noproxy", "*", "--retry", "60", "--retry-delay", "1", "--retry-connrefused", "http://"+address+"/healthz")
	if out, err := curl.CombinedOutput(); err != nil {
		w.Fatalf("no server answers at %s: %v\n%s", address, err, out)
	}
}

// stop ends the servers of the page.
func (w *commands) stop() {
	for _, name := range []string{"one.pid", "two.pid"} {
		text, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			continue // it was not started
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // one of them was killed by the page
		}
	}
}

func startNginx(t *testing.T, dir, settings string) {
	t.Helper()
	var temp strings.Builder
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temp, "%s_temp_path %s/%s;\n", name, dir, name)
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // the folder belongs to the user of the test
	}
	file := filepath.Join(dir, "nginx.conf")
	write(t, file, fmt.Sprintf("daemon off; %s pid %s/nginx; error_log stderr;\nevents {}\nhttp {\naccess_log off; %s\n%s}\n", user, dir, temp.String(), settings))
	nginx := exec.CommandContext(t.Context(), "nginx", "-p", dir, "-c", file)
	nginx.Cancel = func() error { return nginx.Process.Signal(syscall.SIGTERM) }
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nginx.Wait() }) // it ends with the context of the test
}

// freePorts returns a replacer of the ports of a page by free ones.
func freePorts(t *testing.T, names ...string) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, name := range names {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		pairs = append(pairs, "127.0.0.1:"+name, l.Addr().String())
	}
	return strings.NewReplacer(pairs...)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
