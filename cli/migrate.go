package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/store/sqlite"
)

type migrateCmd struct {
	jsonFlag
	To     *int64 `placeholder:"N" help:"Schema version to move to. Default: the newest that this program knows."`
	Status bool   `help:"Only tell which version the database has."`
	Down   bool   `help:"Allow to move down, by one version unless --to says more. Data of what goes away is lost."`
	Yes    bool   `help:"Together with --down: yes, really."`
}

// Help implements kong.HelpProvider.
func (*migrateCmd) Help() string {
	return `No other command changes the schema of a database that has one. Stop the workers before you move down.

    redrive migrate --status
    redrive migrate
    redrive migrate --down --to 0 --yes   # removes redrive's tables with all jobs`
}

func (m *migrateCmd) Run(ctx context.Context, a *app) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	if err := errors.Join(d.fileThere(), d.absolute()); err != nil {
		return err
	}
	schema, err := d.version(ctx)
	if err != nil {
		return err
	}
	if m.Status {
		return m.status(a, d, schema)
	}
	to, err := m.target(schema)
	if err != nil {
		return err
	}
	if err := schema.Fits(); err != nil {
		return fmt.Errorf("database %s: %w", d, err)
	}
	steps, err := d.migrate(ctx, to)
	if err != nil {
		return err
	}
	if m.JSON {
		return a.printJSON(migrated{Database: d.name, Name: d.postgres.Schema, From: schema.Version, To: to, Steps: steps})
	}
	if steps == 0 {
		_, err = fmt.Fprintf(a.out, "%s: %s %d, nothing to do\n", clean(d.String()), d.numbered(), to)
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s: %s %d -> %d\n", clean(d.String()), d.numbered(), schema.Version, to)
	return err
}

// migrated is a migration as it is printed.
type migrated struct {
	Database string `json:"database"`
	Name     string `json:"schema_name,omitempty"` // with PostgreSQL
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Steps    int    `json:"steps"`
}

// target returns the version to move to, if it was asked for clearly enough.
func (m *migrateCmd) target(schema sqlite.Schema) (int64, error) {
	to := schema.Known
	switch {
	case m.To != nil:
		to = *m.To
	case m.Down:
		to = max(0, schema.Version-1)
	}
	switch {
	case to < 0 || to > schema.Known:
		return 0, usagef("--to %d: this program knows the schemas 0 to %d", to, schema.Known)
	case m.Down && to > schema.Version:
		return 0, usagef("--down to schema %d: the database has schema %d, which is below", to, schema.Version)
	case to < schema.Version && (!m.Down || !m.Yes):
		return 0, usagef("schema %d -> %d takes tables away, and the data in them; repeat with --down --yes if you want that",
			schema.Version, to)
	}
	return to, nil
}

func (m *migrateCmd) status(a *app, d *database, schema sqlite.Schema) error {
	if m.JSON {
		return errors.Join(a.printJSON(struct {
			Database string `json:"database"`
			Name     string `json:"schema_name,omitempty"`
			sqlite.Schema
		}{d.name, d.postgres.Schema, schema}), schema.Fits())
	}
	state := "up to date"
	switch {
	case schema.Version == 0:
		state = "empty"
	case schema.Version < schema.Known:
		state = "older; run `redrive migrate`"
	case schema.Version > schema.Known:
		state = "newer than this program"
	}
	fmt.Fprintf(a.out, "%s: %s %d, this program knows %d: %s\n", clean(d.String()), d.numbered(), schema.Version, schema.Known, state)
	return schema.Fits()
}
