package cli

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

var now = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

func workers() []redrive.Process {
	at := job.At(now)
	return []redrive.Process{
		{Name: "render-7f9b4cdd5c-x2x9q-4711-ABCDEFGH", Queues: []string{"default", "media", "notifications"}, Kinds: []string{"mail", "render", "thumbnail"},
			Slots: 1_000, Running: 250, SeenAt: at.Add(-4 * time.Second), StartedAt: at.Add(-47 * time.Hour), Host: "render-7f9b4cdd5c-x2x9q",
			PID: 4_194_304, Policy: strings.Repeat("a", 64), Version: "v0.0.0-20261123085959-0123456789ab", Build: "release-2026-11-22"},
		{Name: "b", Quiet: true, SeenAt: at, StartedAt: at},
		{Name: "c", Quiet: true, Silent: true, SeenAt: at.Add(-23 * time.Hour), StartedAt: at.Add(-90 * 24 * time.Hour)},
	}
}

func TestWorkers_TheListFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{
		80: `WORKER                    STATE     RUNNING  SEEN     SINCE        QUEUES
render-7f9b…711-ABCDEFGH  working  250/1000  4s ago   47h ago      default,medi…
b                         quiet         0/0  now      now          -
c                         silent        0/0  23h ago  90 days ago  -
`,
		120: "", 200: "",
	} {
		var out bytes.Buffer
		a := &app{out: bufio.NewWriter(&out), now: func() time.Time { return now }}
		a.printWorkers(workers(), style{terminal: true, columns: columns})
		if err := a.out.Flush(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, out.String()); want != "" && diff != "" {
			t.Errorf("wrong list of workers on a terminal with %d columns (-want +got):\n%s", columns, diff)
		}
		for line := range strings.Lines(out.String()) {
			if n := words.Width(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("a line has %d columns, want at most the %d of the terminal: %q", n, columns, line)
			}
		}
		if all := strings.Contains(out.String(), "VERSION"); all != (columns == 200) {
			t.Errorf("a terminal with %d columns: the list of workers has the column VERSION: %v, want it only with 200 columns", columns, all)
		}
	}
}

func TestWorkers_ARedriveThatNobodyCarriesOutIsSaid(t *testing.T) {
	t.Parallel()
	list := workers()
	for _, tt := range []struct {
		list []redrive.Process
		want string
	}{
		{nil, "no worker is running now; the redrive waits until `redrive work` is running"},
		{list, ""},
		{list[1:], "each running worker is quiet; the jobs wait until one is woken, as with `redrive workers wake b`"},
		{list[2:], "no worker is running now (c was seen 23h ago); the redrive waits until `redrive work` is running"},
	} {
		if got := idleWarning(tt.list, now); got != tt.want {
			t.Errorf("with %d workers: got the warning %q, want %q", len(tt.list), got, tt.want)
		}
	}
}

func TestWorkers_TheBeginningOfANameIsEnough(t *testing.T) {
	t.Parallel()
	list := []redrive.Process{{Name: "web-1"}, {Name: "web-1"}, {Name: "web-12"}, {Name: "mail-1"}}
	for text, want := range map[string]string{"web-1": "web-1", "web-12": "web-12", "m": "mail-1", "mail-1": "mail-1"} {
		if got, err := workerNamed(list, text); err != nil || got != want {
			t.Errorf("workerNamed(%q): got the name %q, error %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"web", "", "x"} {
		if got, err := workerNamed(list, text); err == nil {
			t.Errorf("workerNamed(%q): got the name %q, want an error, because not exactly one worker has a name with this beginning", text, got)
		}
	}
}
