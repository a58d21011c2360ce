package tempdir

import (
	"errors"
	"os"
	"testing"
)

// A run may end between the opening and the locking of its directory, and another run may
// then create a directory with the same name.
func TestLockOfADirectoryThatIsGoneDoesNotCount(t *testing.T) {
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
		t.Error("stands reports that the directory is gone, but it was not removed")
	}
	if err := root.Remove("job-1"); err != nil {
		t.Fatal(err)
	}
	if stands(root, "job-1", dir) {
		t.Error("stands reports that the directory still exists, but it was removed")
	}
	if err := root.Mkdir("job-1", 0o700); err != nil {
		t.Fatal(err)
	}
	if stands(root, "job-1", dir) {
		t.Error("stands does not notice that a new directory has the same name")
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
		t.Errorf("acquire of a directory that does not exist returned %v, want errTaken", err)
	}
}
