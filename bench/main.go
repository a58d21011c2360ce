// Command bench runs job libraries side by side on one machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], settings(), os.Stdout, os.Stderr))
}

// run measures what the command line asks for among all settings. It returns 0
// when all runs succeeded, 1 when one failed and 2 when the command line is
// wrong.
func run(ctx context.Context, args []string, all []setting, out, errOut io.Writer) int {
	o, err := parseOptions(args, all, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(errOut, err)
		return 2
	}
	var results []result
	emit := func(r result) error {
		results = append(results, r)
		if o.json {
			return writeJSON(out, r)
		}
		return nil
	}
	err = measureAll(ctx, o, emit)
	if !o.json {
		err = errors.Join(err, writeTable(out, results))
		writeRatios(out, ratios(results))
	}
	err = errors.Join(append(short(ratios(results), o.least), err)...)
	if err != nil {
		fmt.Fprintln(errOut, err)
		return 1
	}
	return 0
}

// measureAll goes through the modes and within each through the settings, so
// that numbers to be compared are taken close together. A run that fails is a
// result too; the error says how many did.
func measureAll(ctx context.Context, o options, emit func(result) error) error {
	sqlite, err := sqliteVersion(ctx)
	if err != nil {
		return err
	}
	built := builtFrom()
	failed := 0
	for _, m := range o.modes {
		for _, s := range o.chosen {
			got, err := measure(ctx, s, m, o)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				failed++
			}
			r := newResult(s, m, o, got, err)
			r.Versions = versionsOf(s.modules, built, sqlite)
			if err := emit(r); err != nil {
				return err
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d runs failed", failed, len(o.modes)*len(o.chosen))
	}
	return nil
}
