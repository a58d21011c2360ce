package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/redrive/redrive/store"
)

// versionMin is the first version of SQLite without a known fault: in older versions, two
// connections that write and check-point at the same time can damage the write-ahead log.
const versionMin = "3.51.3"

// checkPlace returns an error when the store could not keep its promises with a database file at
// this path: because of the SQLite library, the folder or the file system. It changes nothing.
func checkPlace(path string) error {
	if err := checkVersion(sqlite3.SQLITE_VERSION); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("database %s: the folder %s does not exist; make it first: %w", path, dir, store.ErrNotFound)
	case err != nil:
		return fmt.Errorf("database %s: %w", path, err)
	case !info.IsDir():
		return fmt.Errorf("database %s: %s is not a folder: %w", path, dir, store.ErrInvalid)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("database %s: the path is a folder; give the path of a file: %w", path, store.ErrInvalid)
	}
	return checkFileSystem(path)
}

// createPrivate creates a new database file that only its user may read, because the file contains
// payloads and evidence. SQLite gives the files beside it the same mode. An existing file keeps its
// mode.
func createPrivate(path string) error {
	// O_EXCL makes sure that this call opens only a new file. Closing an existing file would
	// release the locks that SQLite holds on it in this process.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return readOnly(err)
	}
	return f.Close()
}

// readOnly adds advice to the error for a file that the program cannot open for writing.
func readOnly(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w: %w; give the user of this program the right to write to the file and its folder", store.ErrReadOnly, err)
	}
	return err
}

// resolve returns the absolute path of a file without symbolic links. The names of the write-ahead
// log and of the lock files are made from this path, and all processes must find the same files.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil // the error is ignored here, because opening the file returns it again
}

func checkVersion(have string) error {
	if compareVersions(have, versionMin) < 0 {
		return fmt.Errorf("this program contains SQLite %s, but %s or newer is needed: older versions can damage the file "+
			"when two connections write; update the module modernc.org/sqlite", have, versionMin)
	}
	return nil
}

func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		// the error is ignored, because the version is a constant of the library and always
		// consists of numbers
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if x != y {
			return x - y
		}
	}
	return len(as) - len(bs)
}
