package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// What a flag may ask for at most. River takes no more workers than this.
const (
	jobsMax       = 10_000_000
	goroutinesMax = 10_000
	payloadMax    = 64 << 10
)

// options is a validated command line.
type options struct {
	chosen    []setting
	modes     []mode
	jobs      int
	workers   int
	producers int
	payload   int // bytes
	dir       string
	limit     time.Duration // of the timed part of one run
	json      bool
	least     float64 // times as fast as every other peer; 0 asks for nothing

	now func() time.Time
	log *slog.Logger
}

// parseOptions reads the command line and finds all its faults at once. Help
// and what the peers log go to errOut.
func parseOptions(args []string, all []setting, errOut io.Writer) (options, error) {
	o := options{
		now: time.Now,
		log: slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the caller prints the error
	peer := f.String("peer", "all", "what to measure: all, or a comma-separated list of "+strings.Join(peerNames(all), ", "))
	name := f.String("setting", "all", "only the setting of this name")
	m := f.String("mode", "all", "what to time: all, enqueue, process or both at once")
	f.IntVar(&o.jobs, "jobs", 10_000, "jobs of one run")
	f.IntVar(&o.workers, "workers", 100, "jobs run at the same time")
	f.IntVar(&o.producers, "producers", 100, "goroutines that enqueue, one job a commit")
	f.IntVar(&o.payload, "payload", 200, "bytes of each job's argument")
	f.StringVar(&o.dir, "dir", "", "where the databases go; the disk decides the numbers (default: the system's temporary directory)")
	f.DurationVar(&o.limit, "limit", time.Minute, "longest timed part of one run")
	f.Float64Var(&o.least, "least", 0, "fail unless redrive is so many times as fast as each other chosen peer in each mode")
	f.BoolVar(&o.json, "json", false, "print JSON lines instead of a table")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(errOut)
			f.PrintDefaults()
		}
		return o, err
	}
	o.chosen = choose(all, *peer, *name)
	o.modes = chooseModes(*m)
	return o, errors.Join(
		leftover(f.Args()),
		knownEach("peer", *peer, peerNames(all)),
		known("mode", *m, []string{string(enqueue), string(process), string(both)}),
		matched(o.chosen, *peer, *name),
		within("jobs", o.jobs, 1, jobsMax),
		within("workers", o.workers, 1, goroutinesMax),
		within("producers", o.producers, 1, goroutinesMax),
		within("payload", o.payload, 0, payloadMax),
		positive("limit", o.limit),
	)
}

func peerNames(all []setting) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.peer)
	}
	return slices.Compact(names)
}

func chooseModes(name string) []mode {
	if name == "all" {
		return []mode{enqueue, process, both}
	}
	return []mode{mode(name)}
}

func leftover(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%q is no flag: everything is given by flags", args[0])
}

func known(flag, value string, names []string) error {
	if value == "all" || slices.Contains(names, value) {
		return nil
	}
	return fmt.Errorf("-%s %q: must be all, %s", flag, value, strings.Join(names, ", "))
}

func knownEach(flag, values string, names []string) error {
	for value := range strings.SplitSeq(values, ",") {
		if err := known(flag, value, names); err != nil {
			return err
		}
	}
	return nil
}

func matched(chosen []setting, peer, name string) error {
	if len(chosen) > 0 || name == "all" {
		return nil
	}
	return fmt.Errorf("-setting %q: -peer %s has none of that name", name, peer)
}

func within(flag string, value, low, high int) error {
	if low <= value && value <= high {
		return nil
	}
	return fmt.Errorf("-%s %d: must be from %d to %d", flag, value, low, high)
}

func positive(flag string, d time.Duration) error {
	if d > 0 {
		return nil
	}
	return fmt.Errorf("-%s %v: must be more than 0", flag, d)
}
