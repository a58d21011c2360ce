package tempdir

import (
	"errors"
	"os"
	"testing"
)

// The run whose directory was opened may be over before the lock is taken, and
// another may go by the same name.
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
		t.Error("the directory is where it was opened")
	}
	if err := root.Remove("job-1"); err != nil {
		t.Fatal(err)
	}
	if stands(root, "job-1", dir) {
		t.Error("the directory is gone")
	}
	if err := root.Mkdir("job-1", 0o700); err != nil {
		t.Fatal(err)
	}
	if stands(root, "job-1", dir) {
		t.Error("the directory is another one")
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
		t.Errorf("acquire = %v, want errTaken", err)
	}
}
