package demo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/term"
)

// filesMax is the largest number of demo files in a folder.
const filesMax = 100

// ErrManyFiles is returned by NewFile if the folder has too many files of demos.
var ErrManyFiles = errors.New("too many files of demos")

// NewFile returns the path of the file that a demo creates: the first of redrive-demo.db, redrive-demo-2.db and so
// on that does not exist yet in the current folder, or in a new folder for temporary files if the current one is not
// writable.
func NewFile() (string, error) {
	folder := ""
	if probe, err := os.CreateTemp(".", ".redrive-demo-"); err == nil {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
	} else if folder, err = os.MkdirTemp("", "redrive-demo-file-"); err != nil {
		return "", err
	}
	for n := 1; n <= filesMax; n++ {
		name := "redrive-demo.db"
		if n > 1 {
			name = "redrive-demo-" + strconv.Itoa(n) + ".db"
		}
		name = filepath.Join(folder, name)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w: there are %d here; remove some, or name another one with --db", ErrManyFiles, filesMax)
}

// ScreenOf returns the size and the abilities of the terminal that out is. The zero Screen is no terminal.
func ScreenOf(out io.Writer, getenv func(string) string) Screen {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || getenv("TERM") == "dumb" {
		return Screen{}
	}
	s := Screen{Terminal: true, Color: getenv("NO_COLOR") == ""}
	if columns, rows, err := term.GetSize(int(f.Fd())); err == nil {
		s.Columns, s.Rows = columns, rows
	}
	return s
}
