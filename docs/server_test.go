package docs_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	timeInText   = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	served       = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)
)

// part of: I1, X1
//
// The requests of the page, in their order, get the answers of the page. In an answer, … stands for
// any text.
func TestServer_TheRequestsOfThePage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	page := read(t, "server.md")
	dir := t.TempDir()
	program := filepath.Join(dir, "redrive")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/redrive").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	settings := regexp.MustCompile("(?s)```yaml\n(kinds:.*?)```").FindStringSubmatch(page)
	if settings == nil {
		t.Fatal("the page has no configuration")
	}
	if err := os.WriteFile(filepath.Join(dir, "redrive.yaml"), []byte(settings[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "serve", "--work", "--listen", "127.0.0.1:0")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	address := served.FindStringSubmatch(line)
	if err != nil || address == nil {
		t.Fatalf("got %q and error %v, want the address of the server", line, err)
	}
	blocks := consoleBlock.FindAllStringSubmatch(page, -1)
	if len(blocks) < 5 {
		t.Fatalf("the page has %d blocks of requests, want at least 5", len(blocks))
	}
	for _, block := range blocks {
		for _, request := range strings.Split(block[1], "$ ")[1:] {
			command, want, _ := strings.Cut(request, "\n")
			shell := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(strings.Replace(command, "curl ", "curl -sS --noproxy '*' ", 1), "127.0.0.1:8080", address[1]))
			got, err := shell.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", command, err, got)
			}
			if !matchesPage(want, string(got)) {
				t.Errorf("%s\ngot:  %s\nwant: %s", command, got, want)
			}
		}
	}
}

// matchesPage reports whether an output is that of the page: … stands for any text, and times are
// not compared.
func matchesPage(want, got string) bool {
	want, got = strings.TrimSpace(timeInText.ReplaceAllString(want, "T")), strings.TrimSpace(timeInText.ReplaceAllString(got, "T"))
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile("(?s)^" + pattern + "$").MatchString(got)
}
