// Package servers starts private servers for tests and measurements: PostgreSQL, PgBouncer and
// Redis. They are separate processes on free ports of 127.0.0.1 with data in temporary directories.
// Servers that already run on the machine are not touched.
//
// A server and its data are removed soon after the process that started the server has ended, even
// if this process was killed. The server runs as the user of that process or, under root, as an
// unprivileged user.
package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrMissing means that a server cannot be started, because its program is not installed or the
// system is not supported. Tests are then skipped.
var ErrMissing = errors.New("not installed")

// patience is the time limit for each start, stop or other change of a server. It only matters for
// changes that would never end.
const patience = 2 * time.Minute

// missing returns an ErrMissing that says which package to install.
func missing(program, debian string) error {
	return fmt.Errorf("%s: %w (on Debian: apt-get install %s)", program, ErrMissing, debian)
}

// postgresPlaces are directories with programs of PostgreSQL, searched besides PATH.
var postgresPlaces = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
}

// FindPostgres returns the directory with the programs of the newest PostgreSQL in PATH and in the
// usual directories. The error is [ErrMissing] if PostgreSQL is not installed.
func FindPostgres(ctx context.Context) (dir string, err error) {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	for _, pattern := range postgresPlaces {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	newest := 0.0
	for _, d := range slices.Compact(dirs) {
		if v := postgresVersion(ctx, d); v > newest {
			dir, newest = d, v
		}
	}
	if dir == "" {
		return "", missing("PostgreSQL", "postgresql")
	}
	return dir, nil
}

// postgresVersion returns the version of the programs in a directory, such as 15.18, or 0 if a
// required program is missing.
func postgresVersion(ctx context.Context, dir string) float64 {
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
		return 0
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	return versionIn(string(out))
}

// versionIn finds the version in a line such as "postgres (PostgreSQL) 18.1 (Debian 18.1-1)".
// The version of a beta such as "19beta1" is its major version.
func versionIn(line string) float64 {
	_, rest, _ := strings.Cut(line, ") ")
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(rest)
	}
	major, minor, _ := strings.Cut(rest[:end], ".")
	n, _ := strconv.Atoi(major)
	m, _ := strconv.Atoi(minor)
	return float64(n) + float64(m)/1000
}

// find returns the path of a program in PATH or in the directories for administrators, which the
// PATH of a user may not include.
func find(program, debian string) (string, error) {
	for _, name := range []string{program, "/usr/sbin/" + program, "/usr/local/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", missing(program, debian)
}
