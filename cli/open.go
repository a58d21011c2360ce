package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// defaultConfig is read if it is there and nobody names another one.
const defaultConfig = "redrive.yaml"

// settings are what counts for a call: the configuration and its origin.
type settings struct {
	*config.Config
	file string // "" when there is no file: then kinds and queues are not known
}

// settings reads the configuration that counts: --config, $REDRIVE_CONFIG or
// redrive.yaml, in this order. Only the last may be missing.
func (a *app) settings() (settings, error) {
	file, named := a.configPath()
	c, err := config.Load(file)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && !named:
		c, file = config.Default(), ""
	case errors.Is(err, fs.ErrNotExist):
		return settings{}, absentf("configuration %s: there is no such file", file)
	default:
		return settings{}, err
	}
	if a.DB != "" {
		c.Database = a.DB
	}
	return settings{c, file}, nil
}

func (a *app) configPath() (file string, named bool) {
	if a.ConfigFile != "" {
		return a.ConfigFile, true
	}
	if file := a.getenv("REDRIVE_CONFIG"); file != "" {
		return file, true
	}
	return defaultConfig, false
}

// database returns the path of the database. The configuration is read only if
// it has to be, so that --db works beside a broken one.
func (a *app) database() (string, error) {
	if a.DB != "" {
		return a.DB, nil
	}
	s, err := a.settings()
	if err != nil {
		return "", err
	}
	return s.Database, nil
}

// known returns the configuration if there is one that can be read, else an
// empty one. It is for commands to which it adds something and that work without.
func (a *app) known() *config.Config {
	s, err := a.settings()
	if err != nil || s.file == "" {
		return &config.Config{}
	}
	return s.Config
}

// open opens a database that must exist, and never changes its schema.
func (a *app) open(ctx context.Context) (*sqlite.Store, error) {
	path, err := a.database()
	if err != nil {
		return nil, err
	}
	if err := a.exists(path); err != nil {
		return nil, err
	}
	return openStore(ctx, path)
}

func (a *app) exists(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return absentf("database %s: there is no such file; `redrive enqueue` and `redrive work` make it, --db names another one", path)
	}
	return nil
}

func openStore(ctx context.Context, path string) (*sqlite.Store, error) {
	return sqlite.Open(ctx, path, &sqlite.Options{Readers: 1, KeepSchema: true})
}

// closing closes c at the end of a function whose named error it sets, unless
// there is one already.
func closing(c io.Closer, err *error) {
	if cerr := c.Close(); *err == nil {
		*err = cerr
	}
}

// by names the person who acts.
type by struct {
	By     string `name:"by" placeholder:"NAME" help:"Who does this, for the audit log. Default: $$USER."`
	Reason string `name:"reason" placeholder:"TEXT" help:"Why, for the audit log."`
}

func (b by) actor(a *app) store.By {
	for _, name := range []string{b.By, a.getenv("USER"), a.getenv("LOGNAME")} {
		if name = strings.TrimSpace(name); name != "" {
			return store.By{Actor: name, Reason: b.Reason}
		}
	}
	return store.By{Actor: "cli", Reason: b.Reason}
}
