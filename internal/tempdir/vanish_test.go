//go:build unix

package tempdir

import (
	"os"
	"path/filepath"
	"testing"
)

// The base directory is removed while it is open, as by a cleaner of /tmp. The next directory of a
// run makes it again, and runs that had directories in the old one can end.
//
// part of: T1
func TestT1_ABaseThatVanishedIsMadeAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "base")
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	old, err := b.Create(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // while a file has its name, nothing can be made
		t.Fatal(err)
	}
	if err := b.Check(); err == nil {
		t.Error("the check found nothing wrong with a base that is a file")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := b.Check(); err != nil {
		t.Errorf("the check of a base that was removed: %v", err)
	}
	dir, err := b.Create(1)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir.Path()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the new directory: %v, %v; want mode 0700", info, err)
	}
	for _, d := range []*Dir{old, dir} {
		if err := d.Remove(); err != nil {
			t.Errorf("remove a directory: %v", err)
		}
	}
	if removed, err := b.Sweep(t.Context()); err != nil || removed != 0 {
		t.Errorf("the sweep removed %d directories, %v; want none", removed, err)
	}
}
