package tempdir

import (
	"errors"
	"os"
	"testing"
)

// After a directory was opened and before it is locked, its run may end, and another run may
// make a directory with the same name.
func TestALockOnARemovedDirectoryIsNotUsed(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("job-1", 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := root.Open("job-1")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()

	if !stands(root, "job-1", dir) {
		t.Error("stands returned false for a directory that was not touched, want true")
	}
	if err := root.Remove("job-1"); err != nil {
		t.Fatal(err)
	}
	if stands(root, "job-1", dir) {
		t.Error("stands returned true for a directory that was removed, want false")
	}
	if err := root.Mkdir("job-1", 0o700); err != nil {
		t.Fatal(err)
	}
	if stands(root, "job-1", dir) {
		t.Error("stands returned true after the directory was replaced, want false")
	}
}

func TestLinkIsNotLocked(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(root.Mkdir("job-1", 0o700), root.Symlink("job-1", "job-2")); err != nil {
		t.Fatal(err)
	}
	if _, err := acquire(root, "job-2"); !errors.Is(err, errTaken) {
		t.Errorf("locking a link to a directory: got the error %v, want errTaken", err)
	}
}
