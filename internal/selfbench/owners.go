package selfbench

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/redrive/redrive"
)

const (
	ownersNum   = 20_000 // number of owners of the measured jobs
	ownersLeast = 0.8    // lowest accepted ratio of the rate of jobs with owners to the rate of jobs without
	// ownersTimes multiplies the number of jobs of a round, so that the index of owners is built
	// several times during a round.
	ownersTimes = 4
)

// measuredOn is a store on which figures are measured.
type measuredOn struct{ name, dsn string }

// stores returns SQLite and, unless the DSN is empty, PostgreSQL.
func stores(dsn string) []measuredOn {
	all := []measuredOn{{name: "SQLite"}}
	if dsn != "" {
		all = append(all, measuredOn{"PostgreSQL", dsn})
	}
	return all
}

// place returns a new database. An SQLite file is in the given folder.
func (on measuredOn) place(dir string) soakPlace { return (&Soak{DSN: on.dsn}).place(dir) }

// bothOn is the scenario that enqueues jobs with the given options, and runs them at the same time.
func (b *bencher) bothOn(on measuredOn, name string, options func(i int) redrive.Options) scenario {
	return scenario{name, b.load.Jobs, func(ctx context.Context, dir string, jobs int) (time.Duration, error) {
		l := b.load
		l.Jobs = jobs
		return both(ctx, on.place(dir), filepath.Join(dir, "work"), l, options)
	}}
}

func withoutOwner(int) redrive.Options { return redrive.Options{} }

func withOwner(i int) redrive.Options {
	return redrive.Options{Owner: fmt.Sprintf("owner-%05d", i*7919%ownersNum)}
}

func withCorrelation(i int) redrive.Options {
	return redrive.Options{Correlation: fmt.Sprintf("req-%016x", uint64(i)*0x9E3779B97F4A7C15)} // the multiplication spreads the ids like random ids
}

func withBoth(i int) redrive.Options {
	o := withOwner(i)
	o.Correlation = withCorrelation(i).Correlation
	return o
}

// ownerFigures prints what an owner and a correlation id cost a job: on SQLite and, unless the DSN
// is empty, on PostgreSQL.
func (b *bencher) ownerFigures(ctx context.Context, p *printer, dsn string) error {
	for _, on := range stores(dsn) {
		long := *b
		long.load.Jobs *= ownersTimes
		r, err := long.measure(ctx,
			long.bothOn(on, "without an owner", withoutOwner),
			long.bothOn(on, fmt.Sprintf("of %d owners", ownersNum), withOwner),
			long.bothOn(on, "with a correlation id", withCorrelation),
			long.bothOn(on, "with both", withBoth))
		if err != nil {
			return err
		}
		b.runs = long.runs
		name := fmt.Sprintf("enqueue+process of jobs of %d owners on %s", ownersNum, on.name)
		err = p.print(Figure{name, fmt.Sprintf(">= %g x without owners", ownersLeast), ratio(r[1], r[0]), "x", 0, ratio(r[1], r[0]) >= ownersLeast})
		if err != nil {
			return err
		}
		if err := p.tell("enqueue+process of jobs with a correlation id on "+on.name, ratio(r[2], r[0]), "x without"); err != nil {
			return err
		}
		if err := p.tell("enqueue+process of jobs with an owner and a correlation id on "+on.name, ratio(r[3], r[0]), "x without"); err != nil {
			return err
		}
	}
	return nil
}

// ratio returns the median over the rounds of the ratio of two rates that were measured in turn, with
// two decimals.
func ratio(a, b Result) float64 {
	all := make([]float64, len(a.Rounds))
	for i := range all {
		all[i] = a.Rounds[i] / b.Rounds[i]
	}
	return round(100*median(all)) / 100
}
