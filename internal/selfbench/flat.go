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
	// flatFew is the number of jobs in each set of flatPlaces in the small file. A claim must not
	// take the jobs of these sets, such as paused jobs.
	flatFew = 10_000
	// flatMost is the highest accepted ratio of the time of a poll on the large file to the
	// time on the small file.
	flatMost = 1.5
	// flatWanted is the number of jobs that a poll asks for.
	flatWanted = 100

	flatWarm = 50 // number of polls measured while the file is in the page cache
	flatCold = 15 // number of polls measured after the file was removed from the page cache
)

// flatResult compares one kind of poll on the small file with the same poll on the large
// file.
type flatResult struct {
	poll      string
	few, many time.Duration // the median duration of a poll on the small file, and the duration on the large file
}

func (r flatResult) ratio() float64 { return float64(r.many) / float64(r.few) }

// flatPolls are the kinds of polls. Their order matters, because each of them adds due
// jobs.
var flatPolls = []struct {
	name string
	due  int
}{
	{"empty poll", 0},
	{"partial poll", 3},
	{"full poll", 2 * flatWanted},
}

// flat measures polls on two files. In each set of flatPlaces, the small file has flatFew jobs, and
// the large file has the given number of jobs. A claim must not take these jobs: they are due
// later, paused, of an unknown kind, parked, completed or dead. The polls alternate between the
// files, so that other load on the machine affects both in the same way. Both files are removed at
// the end.
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
				return flatResult{}, fmt.Errorf("prepare the poll %s of the file %s: %w", name, f.path, err)
			}
			d, err := f.poll(ctx)
			if err != nil {
				return flatResult{}, fmt.Errorf("run the poll %s of the file %s: %w", name, f.path, err)
			}
			took[i] = append(took[i], d)
		}
	}
	return flatResult{name, median(took[0]), median(took[1])}, nil
}

// removeDatabase removes a database file and its additional files, such as the write-ahead
// log.
func removeDatabase(path string) error {
	files, err := filepath.Glob(path + "*")
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}
