package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store"
)

type migrateCmd struct {
	jsonFlag
	To     *int64 `placeholder:"N" help:"Version to migrate to. Default: the newest version that this program knows."`
	Status bool   `help:"Print the version of the database, and change nothing."`
	Down   bool   `help:"Migrate to an older version: one version down, or to the version of --to. Data of removed tables and columns is lost."`
	Yes    bool   `help:"Confirm --down."`
}

// Help implements kong.HelpProvider.
func (*migrateCmd) Help() string {
	return `No other command changes an existing schema. Stop the workers before you migrate to an older version.

    redrive migrate --status
    redrive migrate
    redrive migrate --down --to 0 --yes   # removes all tables and jobs`
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
	over := a.busy("migrating the schema")
	steps, err := d.migrate(ctx, to)
	over()
	if err != nil {
		return err
	}
	if m.JSON {
		return a.printJSON(wire.Migration{Database: d.name, Name: d.postgres.Schema, From: schema.Version, To: to, Steps: steps})
	}
	if steps == 0 {
		_, err = fmt.Fprintf(a.out, "%s: %s %d, nothing to do\n", words.Clean(d.String()), d.numbered(), to)
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s: %s %d -> %d\n", words.Clean(d.String()), d.numbered(), schema.Version, to)
	return err
}

// target returns the version that the schema gets. A lower version needs --down and --yes.
func (m *migrateCmd) target(schema store.Schema) (int64, error) {
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
		return 0, usagef("schema %d -> %d removes tables with their data; repeat with --down --yes if you want that",
			schema.Version, to)
	}
	return to, nil
}

func (m *migrateCmd) status(a *app, d *database, schema store.Schema) error {
	if m.JSON {
		return errors.Join(a.printJSON(wire.Schema{Database: d.name, Name: d.postgres.Schema, Schema: schema}), schema.Fits())
	}
	state := "up to date"
	switch {
	case schema.Version == 0:
		state = "empty"
	case schema.Differs:
		state = "of another build"
	case schema.Version < schema.Known:
		state = "older; run `redrive migrate`"
	case schema.Version > schema.Known:
		state = "newer than this program"
	}
	fmt.Fprintf(a.out, "%s: %s %d, this program knows %d: %s\n", words.Clean(d.String()), d.numbered(), schema.Version, schema.Known, state)
	return schema.Fits()
}
