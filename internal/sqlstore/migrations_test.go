package sqlstore_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/redrive/redrive/internal/sqlstore"
)

const text = `-- Times are numbers.

-- +goose Up
CREATE TABLE redrive_meta (
	key   TEXT, -- a name
	value INTEGER
);

-- +goose Down
DROP TABLE redrive_meta;
`

func TestDigestIsOfTheStatementsOnly(t *testing.T) {
	t.Parallel()
	digest := sqlstore.Digest(text)
	for change, want := range map[string]bool{
		"-- +goose Up\n-- The first table.\nCREATE TABLE redrive_meta ( -- more\n\n  key TEXT, value INTEGER\n);\n-- +goose Down\nDROP": true,
		"-- +goose Up\nCREATE TABLE redrive_meta ( key TEXT, value INTEGER, late INTEGER );\n-- +goose Down\n":                          false,
	} {
		if got := sqlstore.Digest(change) == digest; got != want {
			t.Errorf("the digest of\n%s\nis the same: got %t, want %t", change, got, want)
		}
	}
}

func TestMigrationsStoreTheDigestOfTheFirst(t *testing.T) {
	t.Parallel()
	files := sqlstore.Migrations{Begin: "BEGINNING;\n", FS: fstest.MapFS{
		"00001_init.sql": {Data: []byte("-- +goose Up\nA;\n-- +goose Down\nB;\n")},
		"00002_next.sql": {Data: []byte("-- +goose Up\nC;\n-- +goose Down\nD;\n")},
	}}
	for name, want := range map[string]string{
		"00001_init.sql": "-- +goose Up\nBEGINNING;\nA;\nINSERT INTO redrive_meta (key, value) VALUES ('digest', -379682145718079537);\n\n-- +goose Down\nBEGINNING;\nB;\n",
		"00002_next.sql": "-- +goose Up\nBEGINNING;\nC;\n-- +goose Down\nBEGINNING;\nD;\n",
	} {
		if got, err := fs.ReadFile(files, name); err != nil || string(got) != want {
			t.Errorf("%s: got %q and error %v, want %q", name, got, err, want)
		}
	}
}
