package main

import (
	"errors"
	"fmt"
	"io"
)

// ratio is how many times as fast as another system redrive was in one workload.
type ratio struct {
	workload     workload
	ours, theirs string
	times        float64
	measured     bool // both have a figure
}

// ratios compares each other system with redrive on the same server; where that is
// neither's, with redrive on SQLite.
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

// short prints the ratios and returns an error for each that is below what was asked
// for, or could not be measured.
func (p page) short(out io.Writer) (err error) {
	all := p.ratios()
	if len(all) == 0 {
		return fmt.Errorf("-least %g: there is nothing to compare redrive with: -only has to leave another system", p.least)
	}
	for _, r := range all {
		line := fmt.Sprintf("%s: %s is %.1f × %s", r.workload.title, r.ours, r.times, r.theirs)
		switch {
		case !r.measured:
			err = errors.Join(err, fmt.Errorf("%s: no figure for %s beside %s", r.workload.title, r.ours, r.theirs))
			continue
		case r.times < p.least:
			err = errors.Join(err, fmt.Errorf("%s: at least %g × was asked for", line, p.least))
		}
		fmt.Fprintln(out, line)
	}
	return err
}
