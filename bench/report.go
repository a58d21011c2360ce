package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
)

// result is one line of the output.
type result struct {
	Peer         string            `json:"peer"`
	Setting      string            `json:"setting"`
	Mode         mode              `json:"mode"`
	Jobs         int               `json:"jobs"`
	Workers      int               `json:"workers"`
	Producers    int               `json:"producers"`
	PayloadBytes int               `json:"payload_bytes"`
	Seconds      float64           `json:"seconds"`
	PerSecond    float64           `json:"per_second"`
	Durability   string            `json:"durability"`
	RowsLeft     int               `json:"rows_left"`
	HandlerCalls int64             `json:"handler_calls"`
	Versions     map[string]string `json:"versions"`
	Error        string            `json:"error,omitempty"` // the run failed; its times are 0
}

func newResult(s setting, m mode, o options, got measurement, err error) result {
	r := result{
		Peer: s.peer, Setting: s.name, Mode: m,
		Jobs: o.jobs, Workers: o.workers, Producers: o.producers, PayloadBytes: o.payload,
		Durability: got.durability, RowsLeft: got.rowsLeft, HandlerCalls: got.runs,
	}
	if err != nil {
		r.Error = strings.ReplaceAll(err.Error(), "\n", "; ") // a joined error has lines
		return r
	}
	r.Seconds = got.seconds
	r.PerSecond = float64(o.jobs) / got.seconds
	return r
}

// writeJSON prints one result on one line.
func writeJSON(w io.Writer, r result) error { return json.NewEncoder(w).Encode(r) }

// writeTable prints the results for people, with the versions below.
func writeTable(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "peer\tsetting\tmode\tjobs\tseconds\tjobs/s\tdurability\trows left\thandler calls\t")
	versions := map[string]string{}
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.2f\t%.0f\t%s\t%d\t%d\t%s\n", r.Peer, r.Setting, r.Mode,
			r.Jobs, r.Seconds, r.PerSecond, r.Durability, r.RowsLeft, r.HandlerCalls, r.Error)
		maps.Copy(versions, r.Versions)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(w, ", %s %s", name, versions[name])
	}
	_, err := fmt.Fprintln(w)
	return err
}

// versionsOf picks the versions of the named modules from what the binary was
// built from, and adds those of Go and of SQLite.
func versionsOf(modules []string, built []*debug.Module, sqlite string) map[string]string {
	versions := map[string]string{"go": runtime.Version(), "SQLite": sqlite}
	for _, m := range built {
		if slices.Contains(modules, m.Path) {
			versions[m.Path] = m.Version
		}
	}
	return versions
}

// builtFrom lists the modules in this binary; none when it does not carry them.
func builtFrom() []*debug.Module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return info.Deps
}
