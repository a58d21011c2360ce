package selfbench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/redrive/redrive/internal/seed"
)

// Seeded says where the database with many jobs is kept. Reads are measured on it.
type Seeded struct {
	Dir  string // folder of the cached files; "" means the user's cache folder
	DSN  string // a database of PostgreSQL; "" means an SQLite file
	Over int    // the large database is divided by this number; 1 is the full size
}

// Validate returns an error if a value is out of range.
func (s Seeded) Validate() error {
	if s.Over < 1 || s.Over > 10_000 {
		return fmt.Errorf("--over %d is not allowed: it must be 1 to 10,000", s.Over)
	}
	return nil
}

func (s Seeded) shape() seed.Shape { return seed.Large.Over(s.Over) }

func (s Seeded) cache(log io.Writer) (*seed.Cache, error) {
	dir := s.Dir
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w: name a folder with --dir", err)
		}
		dir = filepath.Join(user, "redrive-bench")
	}
	return &seed.Cache{Dir: dir, Shape: s.shape(), Log: log, Now: time.Now}, nil
}

// Seed makes the database with many jobs, or finds it, and prints where it is.
func Seed(ctx context.Context, s Seeded, out, log io.Writer) error {
	c, err := s.cache(log)
	if err != nil {
		return err
	}
	find, what := c.File, "file"
	if s.DSN != "" {
		find, what = func(ctx context.Context) (string, error) { return c.Schema(ctx, s.DSN) }, "schema"
	}
	found, err := find(ctx)
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	fmt.Fprintf(out, "%s %s: %d jobs\n", what, found, s.shape().Jobs())
	return nil
}
