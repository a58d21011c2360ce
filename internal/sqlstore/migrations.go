package sqlstore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"path"
	"strings"
)

// DigestKey names a row of redrive_meta. Its value is the digest of the first migration that made
// the tables. Until the first release that migration is edited in place, so its version alone
// does not tell which tables a database has.
const DigestKey = "digest"

const (
	firstMigration = "00001_init.sql"
	up             = "-- +goose Up\n"
	down           = "-- +goose Down\n"
)

// Migrations are the migrations of a store, as they are run.
type Migrations struct {
	fs.FS
	Begin string // statements with which each migration begins, up and down
}

// Open implements fs.FS. The first migration also stores its digest.
func (m Migrations) Open(name string) (fs.File, error) {
	f, err := m.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return f, err
	}
	text, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	stamp := ""
	if name == firstMigration {
		stamp = fmt.Sprintf("INSERT INTO redrive_meta (key, value) VALUES ('%s', %d);\n\n", DigestKey, Digest(string(text)))
	}
	text = bytes.Replace(text, []byte(up), []byte(up+m.Begin), 1)
	text = bytes.Replace(text, []byte(down), []byte(stamp+down+m.Begin), 1)
	return migration{f, bytes.NewReader(text)}, nil
}

// migration reads a text in place of a file's own.
type migration struct {
	fs.File
	text io.Reader
}

func (f migration) Read(b []byte) (int, error) { return f.text.Read(b) }
func (f migration) Close() error               { return nil }

// Digest is a hash of the statements of a migration up, without comments and white space.
func Digest(text string) int64 {
	text, _, _ = strings.Cut(text, down)
	h := fnv.New64a()
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "--")
		for word := range strings.FieldsSeq(line) {
			h.Write([]byte(word + " "))
		}
	}
	return int64(h.Sum64())
}
