package main

import (
	"bytes"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func sample(err error) result {
	o := options{jobs: 300, workers: 10, producers: 20, payload: 200, limit: time.Minute}
	got := measurement{seconds: 1.5, durability: "journal_mode=wal synchronous=full", rowsLeft: 300, runs: 301}
	r := newResult(setting{peer: "river-sqlite", name: "tuned"}, process, o, got, err)
	r.Versions = versionsOf([]string{"example.com/a"},
		[]*debug.Module{{Path: "example.com/a", Version: "v1.2.3"}, {Path: "example.com/b", Version: "v9.9.9"}}, "3.53.4")
	return r
}

func TestJSONLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := writeJSON(&out, sample(nil)); err != nil {
		t.Fatal(err)
	}
	want := `{"peer":"river-sqlite","setting":"tuned","mode":"process","jobs":300,"workers":10,"producers":20,` +
		`"payload_bytes":200,"seconds":1.5,"per_second":200,"durability":"journal_mode=wal synchronous=full",` +
		`"rows_left":300,"handler_calls":301,"versions":{"SQLite":"3.53.4","example.com/a":"v1.2.3","go":"` +
		runtime.Version() + `"}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", &out, want)
	}
}

func TestFailedRunHasNoNumber(t *testing.T) {
	t.Parallel()
	r := sample(errors.Join(errors.New("enqueue: busy"), errors.New("stop: busy")))
	if r.Seconds != 0 || r.PerSecond != 0 || r.Error != "enqueue: busy; stop: busy" {
		t.Errorf("got %+v", r)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := writeTable(&out, []result{sample(nil), sample(errors.New("lost"))}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	want := []string{
		"peer setting mode jobs seconds jobs/s durability rows left handler calls",
		"river-sqlite tuned process 300 1.50 200 journal_mode=wal synchronous=full 300 301",
		"river-sqlite tuned process 300 0.00 0 journal_mode=wal synchronous=full 300 301 lost",
	}
	for i, w := range want {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != w {
			t.Errorf("line %d: %q, want %q", i, got, w)
		}
	}
	if !strings.Contains(out.String(), "example.com/a v1.2.3") || strings.Contains(out.String(), "example.com/b") {
		t.Errorf("versions: %s", &out)
	}
}
