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
	"time"
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
	settings := regexp.MustCompile("(?s)```yaml\n(kinds:.*?)```").FindStringSubmatch(page)
	if settings == nil {
		t.Fatal("the page has no configuration")
	}
	address := serveConfiguration(t, t.TempDir(), settings[1])
	blocks := consoleBlock.FindAllStringSubmatch(page, -1)
	if len(blocks) < 5 {
		t.Fatalf("the page has %d blocks of requests, want at least 5", len(blocks))
	}
	for _, block := range blocks {
		for _, request := range strings.Split(block[1], "$ ")[1:] {
			command, want, _ := strings.Cut(request, "\n")
			shell := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(strings.Replace(command, "curl ", "curl -sS --noproxy '*' ", 1), "127.0.0.1:8080", address))
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

// serveConfiguration starts a server that works with a configuration in a folder, and returns its address.
func serveConfiguration(t *testing.T, dir, settings string) string {
	t.Helper()
	program := filepath.Join(dir, "redrive")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/redrive").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	write(t, filepath.Join(dir, "redrive.yaml"), settings)
	cmd := exec.CommandContext(t.Context(), program, "serve", "--work", "--listen", "127.0.0.1:0")
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // it ends with the context of the test
	line, err := bufio.NewReader(out).ReadString('\n')
	address := served.FindStringSubmatch(line)
	if err != nil || address == nil {
		t.Fatalf("got %q and error %v, want the address of the server", line, err)
	}
	return address[1]
}

// part of: X1, Q14
//
// The requests of the section about doors get the answers of the page.
func TestServer_TheDoorsOfThePage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	_, after, _ := strings.Cut(read(t, "server.md"), "\n### Doors\n")
	section, _, _ := strings.Cut(after, "\n## ")
	var parts [3]string
	for i, pattern := range []string{"(?s)```yaml doors\n(.*?)```", "(?s)```json\n(.*?)```", "(?s)```console doors\n(.*?)```"} {
		found := regexp.MustCompile(pattern).FindStringSubmatch(section)
		if found == nil {
			t.Fatalf("the section has no text like %s", pattern)
		}
		parts[i] = found[1]
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "timeline.json"), parts[1])
	render := filepath.Join(dir, "render")
	if err := os.WriteFile(render, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	address := serveConfiguration(t, dir, parts[0])
	for _, request := range strings.Split(parts[2], "$ ")[1:] {
		command, want, _ := strings.Cut(request, "\n")
		command = strings.ReplaceAll(strings.Replace(command, "curl ", "curl -sS --noproxy '*' ", 1), "127.0.0.1:8080", address)
		var got []byte
		for until := time.Now().Add(time.Minute); ; { // the first attempt of the job has to end
			var err error
			if got, err = exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, got)
			}
			if matchesPage(want, string(got)) {
				break
			}
			if !strings.HasSuffix(command, "/jobs/1") || time.Now().After(until) {
				t.Fatalf("%s\ngot:  %s\nwant: %s", command, got, want)
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
