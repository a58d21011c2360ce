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

// TestMain lets the test program be the agents that it starts.
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

// TestEverySystemDoesItsWork runs all that is there, with few jobs: what is not
// is said and skipped.
func TestEverySystemDoesItsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and many processes")
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
				t.Skip("MISSING, see above: not measured")
			}
		})
	}
}

// durability is what each system has to be set to beside its server, so that a change
// is seen: figures of different ones are not compared.
var durability = map[server]string{
	noServer: "journal_mode=wal synchronous=full", postgres: "fsync=on synchronous_commit=on",
	redisEverySec: "appendonly=yes appendfsync=everysec", redisAlways: "appendonly=yes appendfsync=always",
}

func checkResult(t *testing.T, s system, r result) {
	t.Helper()
	switch {
	case r.Error != "":
		t.Errorf("%s: %s", r.Workload, r.Error)
	case !s.floor && r.Durability != durability[s.server]:
		t.Errorf("%s: is set to %q, want %q", r.Workload, r.Durability, durability[s.server])
	case r.Workload == "pickup" && r.Samples < 5, r.Workload == "kill" && r.Kill == nil:
		t.Errorf("%s: no figure: %+v", r.Workload, r)
	case r.Workload == "kill" && r.Kill.Acked == 0:
		t.Errorf("nothing was stored before the kill: %+v", r.Kill)
	case r.Workload == "kill" && r.Kill.Lost > 0 && s.server != redisEverySec:
		t.Errorf("%d jobs were lost", r.Kill.Lost)
	case strings.HasPrefix(r.Workload, "both"), strings.HasPrefix(r.Workload, "fail"):
		dead := 0
		if r.Workload == "fail-20" {
			dead = failures(r.Jobs, 20)
		}
		if r.PerSecond <= 0 || !s.floor && r.Rows.Dead != dead || s.history && r.Rows.Finished != r.Jobs-dead {
			t.Errorf("%s: want %d dead and a figure: %+v", r.Workload, dead, r)
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
		t.Fatalf("exit %d, page %q", code, &page)
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
		{"-only rive,nothing", `-only "nothing": must be of the workloads both,`},
		{"-rounds 0", "-rounds 0: must be from 1 to 100"},
		{"-jobs 19", "-jobs 19: must be from 20 to 10000000"},
		{"-payload 31", "-payload 31: must be from 32 to 65536"},
		{"-least -1", "-least -1: must be from 0 to 1e+06"},
		{"river", `"river" is no flag: everything is given by flags`},
	} {
		var out, log bytes.Buffer
		if code := run(t.Context(), strings.Fields(tt.args), &out, &log); code != 2 || !strings.HasPrefix(log.String(), tt.want) {
			t.Errorf("%s: exit %d, %q; want 2, %q", tt.args, code, &log, tt.want)
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
		t.Errorf("workloads %+v", o.workloads)
	}
	for _, s := range o.systems {
		if !s.ours() && s.name != "asynq" {
			t.Errorf("%s was not asked for", s.key())
		}
	}
	if len(o.systems) < 4 {
		t.Errorf("%d systems: redrive belongs to each comparison", len(o.systems))
	}
	o, err = parseOptions([]string{"-only", "both,redrive-sqlite,river-sqlite"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range o.systems {
		if s.name != "redrive-sqlite" && s.name != "river-sqlite" {
			t.Errorf("%s was not asked for: one store of redrive was named", s.key())
		}
	}
	if len(o.systems) != 3 {
		t.Errorf("%d systems, want redrive on SQLite and River with both settings", len(o.systems))
	}
}
