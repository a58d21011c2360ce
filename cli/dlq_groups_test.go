package cli

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store/memory"
)

// answers is a server whose paths are statuses, such as /404. Two paths answer 429 for different reasons, and /cut
// sends less than it announces.
func answers(w http.ResponseWriter, r *http.Request) {
	body := ""
	status, err := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
	switch {
	case r.URL.Path == "/quota":
		status, body = http.StatusTooManyRequests, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`
	case r.URL.Path == "/rate":
		status, body = http.StatusTooManyRequests, `{"error":{"code":"rate_limit_exceeded","message":"Too many requests"}}`
	case err != nil:
		w.Header().Set("Content-Length", "100")
		status, body = http.StatusOK, "cut"
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// realCauses returns commands of real programs that fail by different causes. Programs that are not
// installed are left out.
func realCauses(t *testing.T, url string) [][]string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var causes [][]string
	add := func(program []string, last ...string) {
		if _, err := exec.LookPath(program[0]); err != nil {
			t.Logf("%s is not installed: its causes are left out", program[0])
			return
		}
		for _, word := range last {
			causes = append(causes, append(slices.Clip(program), word))
		}
	}
	add([]string{"curl", "-sS", "--fail-with-body"}, url+"/401", url+"/404", url+"/422", url+"/500", url+"/503", url+"/quota", url+"/rate", url+"/cut",
		"http://127.0.0.1:1/", "http://nosuch.invalid/", "gopherx://a/")
	add([]string{"ffmpeg", "-hide_banner", "-y", "-f", "null", "-", "-i"}, filepath.Join(dir, "missing.mp4"), dir, write("notes.mp4", "these are notes"))
	add([]string{"ffmpeg", "-hide_banner", "-f", "lavfi", "-i", "nullsrc=d=0.1", "-f", "null", "-c:v", "h266enc"}, "-")
	add([]string{"python3", "-c"},
		"{'a': 1}['customer']", "1 + 'x'", "import time\ntime.strptime('2026-13-01', '%Y-%m-%d')", "raise MemoryError()",
		"import sys\nprint('ERROR: invoice template is missing')\nsys.exit(1)", "import sys\nsys.exit(3)", "open('/nosuch/invoice.pdf')",
		"import os\nos.kill(os.getpid(), 11)")
	add([]string{"node", "-e"},
		"const o = undefined; o.total", "Promise.reject(new Error('payment gateway says no'))", "require('net').connect(1, '127.0.0.1')",
		"require('fs').readFileSync('/nosuch/config.json')")
	add([]string{"java", "-Xshare:auto"},
		write("Npe.java", "public class Npe { public static void main(String[] a) { String s = null; s.length(); } }"),
		write("Sql.java", "public class Sql { public static void main(String[] a) throws Exception { throw new java.sql.SQLException(\"deadlock detected\", \"40P01\"); } }"),
		write("Open.java", "public class Open { public static void main(String[] a) throws Exception { new java.io.FileReader(\"/nosuch/a.txt\"); } }"))
	return causes
}

// deadOf runs each command as a job that dies at its first failure, and returns the groups.
func deadOf(t *testing.T, causes [][]string) *wire.GroupList {
	t.Helper()
	client, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{MaxAttempts: 1, TempDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for i, argv := range causes {
		kind := argv[0] + strings.Repeat("-", i) // a kind for each command, so that no group has two of them
		c := &command{kind: config.Kind{Command: argv, Env: []string{"PATH", "HOME"}, KillGrace: time.Second}, log: slog.New(slog.DiscardHandler)}
		redrive.HandleRaw(client, kind, c.handle, nil)
		if _, err := client.Enqueue(ctx, redrive.NewRaw(kind, []byte("{}"), nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.RunUntilIdle(ctx); err != nil {
		t.Fatal(err)
	}
	page, err := client.Groups(ctx, redrive.GroupFilter{Limit: job.PageMax})
	if err != nil {
		t.Fatal(err)
	}
	for i, argv := range causes {
		kind := argv[0] + strings.Repeat("-", i)
		if !slices.ContainsFunc(page.Groups, func(g redrive.Group) bool { return g.Kind == kind }) {
			t.Errorf("%q has not died", argv)
		}
	}
	list := wire.GroupsOf(&page)
	if err := addOperators(ctx, client, list.Groups); err != nil {
		t.Fatal(err)
	}
	for i := range list.Groups { // a terminal shows one kind for the commands of one program
		list.Groups[i].Kind = strings.TrimRight(list.Groups[i].Kind, "-")
	}
	return &list
}

// proves: D6
func TestD6_CausesOfRealProgramsReadDifferentlyAtEachWidth(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(answers))
	defer srv.Close()
	causes := realCauses(t, srv.URL)
	list := deadOf(t, causes)
	if len(list.Groups) != len(causes) {
		t.Fatalf("%d commands died by %d causes, want one group for each", len(causes), len(list.Groups))
	}
	now := list.Groups[0].LastAt + job.Micros(time.Hour/time.Microsecond)
	for _, columns := range []int{80, 100, 120, 160} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			groupTable(list, now, style{terminal: true, columns: columns}).print(&out, style{terminal: true, columns: columns})
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			for _, line := range lines {
				if words.Width(line) > columns {
					t.Errorf("the line is %d columns wide, want at most %d: %q", words.Width(line), columns, line)
				}
			}
			for _, want := range []string{"GROUP", "PENDING", "TREND", "WHO ACTS"} {
				if !strings.Contains(lines[0], want) {
					t.Errorf("the titles are %q, want %s among them", lines[0], want)
				}
			}
			if got := len(lines) - 1; got != 2*len(causes) && got != len(causes) {
				t.Fatalf("%d causes take %d lines, want one or two for each", len(causes), got)
			}
			seen := map[string]string{}
			each := (len(lines) - 1) / len(causes)
			for i := 1; i < len(lines); i += each {
				row := strings.Join(lines[i:i+each], "\n")
				_, text, _ := strings.Cut(row, " ") // without the name of the group
				text = lines[i][strings.Index(lines[0], "WHO ACTS"):] + text[strings.LastIndex(text, "\n")+1:]
				if other, twice := seen[text]; twice {
					t.Errorf("two causes read alike:\n%s\n%s", other, row)
				}
				seen[text] = row
			}
			if testing.Verbose() {
				t.Log("\n" + out.String())
			}
		})
	}
}
