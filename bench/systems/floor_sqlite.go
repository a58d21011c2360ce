package systems

import (
	"context"
	"os"

	"github.com/redrive/redrive/bench/agent"
	"github.com/redrive/redrive/internal/selfbench"
)

// floorSQLite runs only those statements on SQLite that redrive needs at least for its jobs.
func floorSQLite() agent.Program {
	return agent.Program{
		Modules: []string{"modernc.org/sqlite", "zombiezen.com/go/sqlite"},
		Floor:   func(_ context.Context, c agent.Config) (agent.Floor, error) { return sqliteFloor{c}, nil },
	}
}

type sqliteFloor struct{ c agent.Config }

func (f sqliteFloor) Run(ctx context.Context, mode string, jobs int) (float64, error) {
	dir, err := os.MkdirTemp(f.c.Dir, "floor-")
	if err != nil {
		return 0, err
	}
	took, err := selfbench.Floor(ctx, dir, mode, selfbench.Load{
		Jobs: jobs, Workers: f.c.Workers, Producers: f.c.Producers, Payload: f.c.Payload,
	})
	return took.Seconds(), err
}
