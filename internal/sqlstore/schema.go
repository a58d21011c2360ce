package sqlstore

import (
	"fmt"

	"github.com/redrive/redrive/store"
)

const (
	// VersionTable is the table in which goose notes the migrations that have run.
	VersionTable = "redrive_migrations"
	// CompatKey names a row of redrive_meta. A migration writes a schema version into that row:
	// programs that know this version or a newer one may use the database. Without the row,
	// only programs that know the newest schema may use it.
	CompatKey = "compatible_from"
)

// MayUse returns an error when this program may not use the database; see Schema.Fits. If the
// last argument is true, it also refuses a schema that is older than the program's schema.
func MayUse(s store.Schema, keep bool) error {
	if err := s.Fits(); err != nil {
		return err
	}
	if keep && s.Version > 0 && s.Version < s.Known {
		return fmt.Errorf("%w: the database has schema %d and this program uses %d; run `redrive migrate` first",
			store.ErrSchema, s.Version, s.Known)
	}
	return nil
}
