package selfbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	// flatFew is how many jobs each place of the small file has.
	flatFew = 10_000
	// flatMost is how many times longer a poll may take beside many jobs.
	flatMost = 1.5
	// flatWanted is how many jobs a poll asks for.
	flatWanted = 100

	flatWarm = 50 // polls measured on a file whose pages are cached
	flatCold = 15 // polls measured on a file of which nothing is cached
)

// flatResult compares one kind of poll on the small and on the large file.
type flatResult struct {
	poll      string
	few, many time.Duration // medians
}

func (r flatResult) ratio() float64 { return float64(r.many) / float64(r.few) }

// flatPolls are the kinds of polls. Their order matters: each adds due jobs.
var flatPolls = []struct {
	name string
	due  int
}{
	{"empty poll", 0},
	{"partial poll", 3},
	{"full poll", 2 * flatWanted},
}

// flat measures polls on two files, with flatFew and with rows jobs in each place
// that a claim may not take from: due later, paused, of an unknown kind, parked,
// completed and dead. The polls alternate between the files, so that the load of the
// machine affects both alike. Both files are removed at the end.
func flat(ctx context.Context, dir string, rows int) (results []flatResult, err error) {
	few, err := openFlat(ctx, filepath.Join(dir, "few.db"), flatFew)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, few.remove()) }()
	many, err := openFlat(ctx, filepath.Join(dir, "many.db"), rows)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, many.remove()) }()
	for _, p := range flatPolls {
		for _, f := range []*flatFile{few, many} {
			if err := f.makeDue(ctx, p.due); err != nil {
				return nil, fmt.Errorf("%s: %w", f.path, err)
			}
		}
		warm, err := compareFlat(ctx, p.name+", warm", flatWarm, few, many, func(*flatFile) error { return nil })
		if err != nil {
			return nil, err
		}
		cold, err := compareFlat(ctx, p.name+", cold", flatCold, few, many, func(f *flatFile) error { return f.reopenCold(ctx) })
		if err != nil {
			return nil, err
		}
		results = append(results, warm, cold)
	}
	return results, nil
}

func compareFlat(ctx context.Context, name string, rounds int, few, many *flatFile, before func(*flatFile) error) (flatResult, error) {
	var took [2][]time.Duration
	for range rounds {
		for i, f := range []*flatFile{few, many} {
			if err := before(f); err != nil {
				return flatResult{}, fmt.Errorf("%s, %s: %w", name, f.path, err)
			}
			d, err := f.poll(ctx)
			if err != nil {
				return flatResult{}, fmt.Errorf("%s, %s: %w", name, f.path, err)
			}
			took[i] = append(took[i], d)
		}
	}
	return flatResult{name, median(took[0]), median(took[1])}, nil
}

// removeDatabase removes a database file and the files that belong to it.
func removeDatabase(path string) error {
	files, err := filepath.Glob(path + "*")
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}
