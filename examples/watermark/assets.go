package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/redrive/redrive/store"
)

// The kinds of assets.
const (
	pictureFile = "picture"
	clipFile    = "clip"
)

// kinds are the kinds of files by their extensions.
var kinds = map[string]string{".png": pictureFile, ".jpg": pictureFile, ".jpeg": pictureFile, ".mp4": clipFile, ".mov": clipFile, ".mkv": clipFile, ".webm": clipFile}

// asset is a file that was uploaded. Whether FFmpeg can read it is found out by the jobs.
type asset struct{ ID, Account, Name, Path, Kind string }

// assetOf returns an asset of an account.
func assetOf(ctx context.Context, tx *sql.Tx, p *account, id string) (f asset, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id, account, name, path, kind FROM assets WHERE id = ? AND account = ?`, id, p.ID).
		Scan(&f.ID, &f.Account, &f.Name, &f.Path, &f.Kind)
	return f, known(err)
}

// upload stores a file as a new asset, or in place of the file of an asset. The new file of an asset
// gets the path of the old one, so that a retry of a dead job reads it.
func (a *app) upload(ctx context.Context, p *account, replace, name string, body io.Reader) (f asset, err error) {
	name = filepath.Base(name)
	kind := kinds[strings.ToLower(filepath.Ext(name))]
	if kind == "" || len(name) > textMax {
		return f, refuse(http.StatusBadRequest, "%.40q: upload a picture (.png, .jpg) or a clip (.mp4, .mov, .mkv, .webm) with a name of at most %d bytes.", name, textMax)
	}
	f = asset{ID: rand.Text(), Account: p.ID, Name: name, Kind: kind}
	f.Path = filepath.Join(a.dir, "assets", f.ID+strings.ToLower(filepath.Ext(name)))
	part := f.Path + ".part"
	defer os.Remove(part)
	if err := writeFile(part, body); err != nil {
		return f, err
	}
	return f, a.tx(ctx, func(ctx context.Context, tx *sql.Tx, _ store.Tx) error {
		if replace == "" {
			_, err = tx.ExecContext(ctx, `INSERT INTO assets (id, account, name, path, kind) VALUES (?, ?, ?, ?, ?)`, f.ID, p.ID, f.Name, f.Path, f.Kind)
		} else {
			var old asset
			if old, err = assetOf(ctx, tx, p, replace); err == nil && old.Kind != f.Kind {
				err = refuse(http.StatusBadRequest, "%s is a %s: replace it by a %s.", old.Name, old.Kind, old.Kind)
			}
			f.ID, f.Path = old.ID, old.Path
		}
		if err != nil {
			return err
		}
		return os.Rename(part, f.Path)
	})
}

// writeFile writes a new file and flushes it to the disk.
func writeFile(path string, body io.Reader) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, body); err != nil {
		return fmt.Errorf("store %s: %w", filepath.Base(path), err)
	}
	return out.Sync()
}
