package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// options is the validated command line.
type options struct {
	systems   []system
	workloads []workload
	rounds    int
	jobs      int // number of jobs in one run of a fast system
	payload   int // size of each job's JSON in bytes
	producers int
	limit     time.Duration // time limit of one run
	killAfter time.Duration // how long a system runs before it is killed
	node      string        // the directory of the Node programs
	riverpg   string        // the directory of the module with River on PostgreSQL
	page      string        // the file to which the page is written; "" prints the page
	json      string        // the file to which the results are written; "" writes no file
	least     float64       // lowest allowed ratio of redrive's speed to the speed of each other system; 0 means no limit
}

// jobsMin is the smallest number of jobs of a run.
const jobsMin = 20

func parseOptions(args []string, log io.Writer) (o options, err error) {
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the caller prints the error
	only := f.String("only", "", "a comma-separated list of workloads ("+strings.Join(workloadNames(), ", ")+
		") and of parts of the systems' names; redrive is always among the systems, on both stores unless one is named")
	f.IntVar(&o.rounds, "rounds", 3, "number of rounds; the median is reported")
	f.IntVar(&o.jobs, "jobs", 100_000, "jobs of one run; slow systems get a share of them")
	f.IntVar(&o.payload, "payload", 200, "bytes of each job's JSON")
	f.IntVar(&o.producers, "producers", 100, "enqueues at the same time in each process")
	f.DurationVar(&o.limit, "limit", 2*time.Minute, "longest run")
	f.DurationVar(&o.killAfter, "kill-after", 1500*time.Millisecond, "how long a system runs before it is killed")
	f.StringVar(&o.node, "node", "node", "the folder of the programs for Node")
	f.StringVar(&o.riverpg, "riverpg", "riverpg", "the folder of the module that runs River on PostgreSQL")
	f.StringVar(&o.page, "page", "", "the file for the page; without it the page is printed")
	f.StringVar(&o.json, "json", "", "a file for all results as JSON")
	f.Float64Var(&o.least, "least", 0, "fail unless redrive is at least this many times as fast as each other system in each workload; "+
		"the ratios are printed instead of the page")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(log)
			f.PrintDefaults()
		}
		return o, err
	}
	err = o.choose(*only)
	return o, errors.Join(err,
		leftover(f.Args()),
		within("rounds", o.rounds, 1, 100),
		within("jobs", o.jobs, jobsMin, 10_000_000),
		within("payload", o.payload, 32, 64<<10),
		within("producers", o.producers, 1, 10_000),
		within("least", o.least, 0, 1_000_000),
	)
}

// choose keeps the systems and workloads that the list names.
func (o *options) choose(only string) error {
	var names, modes []string
	for word := range strings.SplitSeq(only, ",") {
		switch {
		case word == "":
		case slices.Contains(workloadNames(), word):
			modes = append(modes, word)
		case slices.ContainsFunc(catalog(), func(s system) bool { return strings.Contains(s.key(), word) }):
			names = append(names, word)
		default:
			return fmt.Errorf("-only %q: must be one of the workloads %s, or part of a system's name, such as river",
				word, strings.Join(workloadNames(), ", "))
		}
	}
	named := func(s system) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(s.key(), n) })
	}
	ours := slices.ContainsFunc(catalog(), func(s system) bool { return s.ours() && named(s) })
	o.systems = slices.DeleteFunc(catalog(), func(s system) bool {
		return len(names) > 0 && !named(s) && (!s.ours() || ours)
	})
	o.workloads = slices.DeleteFunc(workloads(), func(w workload) bool {
		return len(modes) > 0 && !slices.Contains(modes, w.name)
	})
	return nil
}

func leftover(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q: this command takes only flags", args[0])
}

func within[N int | float64](flag string, value, low, high N) error {
	if low <= value && value <= high {
		return nil
	}
	return fmt.Errorf("-%s %v: must be from %v to %v", flag, value, low, high)
}
