package main

import (
	"fmt"
	"io"
)

// ours is the peer that the others are compared with.
const ours = "redrive"

// ratio is how many times as fast as a peer we were in one run of the command.
type ratio struct {
	mode  mode
	peer  string
	times float64
}

func ratios(results []result) (all []ratio) {
	own := make(map[mode]float64)
	for _, r := range results {
		if r.Peer == ours && r.Error == "" {
			own[r.Mode] = r.PerSecond
		}
	}
	for _, r := range results {
		if r.Peer != ours && r.Error == "" && r.PerSecond > 0 && own[r.Mode] > 0 {
			all = append(all, ratio{r.Mode, r.Peer + " " + r.Setting, own[r.Mode] / r.PerSecond})
		}
	}
	return all
}

func writeRatios(out io.Writer, all []ratio) {
	for _, r := range all {
		fmt.Fprintf(out, "%s: %s is %.1f x %s\n", r.mode, ours, r.times, r.peer)
	}
}

// short returns an error for each ratio below least.
func short(all []ratio, least float64) (errs []error) {
	for _, r := range all {
		if r.times < least {
			errs = append(errs, fmt.Errorf("%s: %s is %.1f x %s, at least %.1f was asked for", r.mode, ours, r.times, r.peer, least))
		}
	}
	return errs
}
