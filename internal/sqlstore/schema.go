package sqlstore

import (
	"errors"
	"fmt"
)

const (
	// VersionTable is where goose notes which migrations have run.
	VersionTable = "redrive_migrations"
	// CompatKey is the row of redrive_meta in which a migration states the
	// oldest schema version whose programs may go on using the database after
	// it. Without the row only programs that know the newest schema may.
	CompatKey = "compatible_from"
)

// ErrSchema is in the error of Open when the database's schema does not fit this
// program.
var ErrSchema = errors.New("schema version does not fit")

// Schema is the state of a database's schema.
type Schema struct {
	Version    int64 `json:"version"`         // of the database; 0 is empty
	Known      int64 `json:"known"`           // the newest this program knows
	Compatible int64 `json:"compatible_from"` // oldest program that may use it
}

// Fits returns an ErrSchema that names both versions and the cure when this
// program may not use the database.
func (s Schema) Fits() error {
	if s.Version > s.Known && s.Compatible > s.Known {
		return fmt.Errorf("%w: the database has schema %d, which needs a program that knows schema %d; "+
			"this one knows %d: install a newer redrive", ErrSchema, s.Version, s.Compatible, s.Known)
	}
	return nil
}

// MayUse is Fits, and refuses an older schema that is to be kept.
func MayUse(s Schema, keep bool) error {
	if keep && s.Version > 0 && s.Version < s.Known {
		return fmt.Errorf("%w: the database has schema %d and this program uses %d; run `redrive migrate` first",
			ErrSchema, s.Version, s.Known)
	}
	return s.Fits()
}
