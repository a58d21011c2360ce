package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive/bench/agent"
)

// TestMain makes the test program an agent when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == agentArg {
		main()
		return
	}
	if len(os.Args) == 2 && os.Args[1] == fakeArg {
		if err := agent.Serve(context.Background(), fakes(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEverySystemDoesItsWork runs all available systems with few jobs. Missing ones are logged and
// skipped.
func TestEverySystemDoesItsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this test starts servers and many processes")
	}
	results := measured(t, "-jobs", "500", "-kill-after", "150ms", "-only", "both,fail-20,kill")
	results = append(results, measured(t, "-jobs", "20", "-only", "pickup,both-4,river-postgres")...)
	for _, s := range catalog() {
		t.Run(s.key(), func(t *testing.T) {
			n := 0
			for _, r := range results {
				if r.key() != s.key() {
					continue
				}
				n++
				checkResult(t, s, r)
			}
			if n == 0 && s.only == nil {
				t.Skip("the system cannot be measured here, see MISSING above")
			}
		})
	}
}

// durability is the expected setting of each system, by its server. Figures are only comparable
// with the same settings.
var durability = map[server]string{
	noServer: "journal_mode=wal synchronous=full", postgres: "fsync=on synchronous_commit=on",
	redisEverySec: "appendonly=yes appendfsync=everysec", redisAlways: "appendonly=yes appendfsync=always",
}

func checkResult(t *testing.T, s system, r result) {
	t.Helper()
	switch {
	case r.Error != "":
		t.Errorf("workload %s failed: %s", r.Workload, r.Error)
	case !s.floor && r.Durability != durability[s.server]:
		t.Errorf("%s: got the durability settings %q, want %q", r.Workload, r.Durability, durability[s.server])
	case r.Workload == "pickup" && r.Samples < 5, r.Workload == "kill" && r.Kill == nil:
		t.Errorf("workload %s got the result %+v, want a result with a figure", r.Workload, r)
	case r.Workload == "kill" && r.Kill.Acked == 0:
		t.Errorf("got the counts %+v after the kill, want at least one job stored before it", r.Kill)
	case r.Workload == "kill" && r.Kill.Lost > 0 && s.server != redisEverySec:
		t.Errorf("the kill lost %d jobs, want 0", r.Kill.Lost)
	case strings.HasPrefix(r.Workload, "both"), strings.HasPrefix(r.Workload, "fail"):
		dead := 0
		if r.Workload == "fail-20" {
			dead = failures(r.Jobs, 20)
		}
		if r.PerSecond <= 0 || !s.floor && r.Rows.Dead != dead || s.history && r.Rows.Finished != r.Jobs-dead {
			t.Errorf("workload %s: got the result %+[3]v, want %[2]d dead jobs and a figure", r.Workload, dead, r)
		}
	}
}

// measured runs the command and reads its JSON.
func measured(t *testing.T, args ...string) []result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "peers.json")
	var page, log bytes.Buffer
	code := run(t.Context(), append([]string{"-rounds", "1", "-node", "../node", "-riverpg", "../riverpg", "-json", path}, args...), &page, &log)
	t.Logf("%s", &log)
	if code == 2 || !strings.HasPrefix(page.String(), "# Beside other job systems\n") {
		t.Fatalf("got exit code %d and page %q; want exit code 0 or 1 and a page with its heading", code, &page)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Results []result
		Missing map[string]string
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	for key, reason := range out.Missing {
		t.Logf("MISSING: %s: %s", key, reason)
	}
	return out.Results
}

func TestWrongCommandLineIsNotRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"-only rive,nothing", `-only "nothing": must be one of the workloads both,`},
		{"-rounds 0", "-rounds 0: must be from 1 to 100"},
		{"-jobs 19", "-jobs 19: must be from 20 to 10000000"},
		{"-payload 31", "-payload 31: must be from 32 to 65536"},
		{"-least -1", "-least -1: must be from 0 to 1e+06"},
		{"river", `unexpected argument "river": this command takes only flags`},
	} {
		var out, log bytes.Buffer
		if code := run(t.Context(), strings.Fields(tt.args), &out, &log); code != 2 || !strings.HasPrefix(log.String(), tt.want) {
			t.Errorf("peers %s: got exit code %d and log %q, want exit code 2 and a log with %q", tt.args, code, &log, tt.want)
		}
	}
}

func TestOnlyChoosesSystemsAndWorkloads(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"-only", "both,asynq"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.workloads) != 1 || o.workloads[0].name != "both" {
		t.Errorf("got the workloads %+v, want only the workload both", o.workloads)
	}
	for _, s := range o.systems {
		if !s.ours() && s.name != "asynq" {
			t.Errorf("got the system %s, which -only does not include", s.key())
		}
	}
	if len(o.systems) < 4 {
		t.Errorf("got %d systems, want several with redrive among them", len(o.systems))
	}
	o, err = parseOptions([]string{"-only", "both,redrive-sqlite,river-sqlite"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range o.systems {
		if s.name != "redrive-sqlite" && s.name != "river-sqlite" {
			t.Errorf("got the system %s, want only redrive on the store that -only names", s.key())
		}
	}
	if len(o.systems) != 3 {
		t.Errorf("got %d systems, want redrive on SQLite and River with both settings", len(o.systems))
	}
}
