package main

import (
	"errors"
	"fmt"
	"io"
)

// ratio is the throughput of redrive in one workload, divided by the throughput of another system.
type ratio struct {
	workload     workload
	ours, theirs string
	times        float64
	measured     bool // whether both systems have a figure in the workload
}

// ratios compares each other system with redrive on the same server, For a server that redrive does
// not support, it uses redrive on SQLite.
func (p page) ratios() (all []ratio) {
	for _, m := range p.workloads {
		for _, s := range p.systems {
			if s.ours() || s.floor || !s.does(m) || m.mode == killMode {
				continue
			}
			ours := onSQLite
			if s.server == postgres {
				ours = p.onPostgres(s)
			}
			times, ok := p.times(m, ours, s.key())
			all = append(all, ratio{m, nameOf(ours), p.nameOf(s), times, ok})
		}
	}
	return all
}

// short prints the ratios. It returns an error for each ratio that is below the limit or could not
// be measured.
func (p page) short(out io.Writer) (err error) {
	all := p.ratios()
	if len(all) == 0 {
		return fmt.Errorf("-least %g: no system to compare redrive with; -only must include another system", p.least)
	}
	for _, r := range all {
		line := fmt.Sprintf("%s: %s is %.1f × %s", r.workload.title, r.ours, r.times, r.theirs)
		switch {
		case !r.measured:
			err = errors.Join(err, fmt.Errorf("%s: %s cannot be compared with %s: one of the two has no figure", r.workload.title, r.ours, r.theirs))
			continue
		case r.times < p.least:
			err = errors.Join(err, fmt.Errorf("%s; want at least %g × as set with -least", line, p.least))
		}
		fmt.Fprintln(out, line)
	}
	return err
}
