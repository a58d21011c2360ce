package redrivetest

import (
	"context"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/redrive/redrive"
)

// Attempt runs a handler once, as the first attempt of a job. It returns the result, or the failure
// and the decision about the failure. It also returns the files and processes that the handler left
// behind.
//
// It sets environment variables to give the test a directory for temporary files, so it cannot be
// used in parallel tests. It finds processes on Linux only.
func Attempt[T any](t testing.TB, h func(context.Context, *redrive.Job[T]) error, args T) Outcome {
	t.Helper()
	temp := t.TempDir()
	for _, name := range []string{tempVar, "TMP", "TEMP"} { // Windows uses the last two variables
		t.Setenv(name, temp)
	}
	e := New(t, nil)
	kind := redrive.Kind[T]("attempt")
	redrive.Handle(e.Client, kind, h, nil)
	if _, err := e.Enqueue(t.Context(), kind.New(args, nil)); err != nil {
		t.Fatal(err)
	}
	outcome := e.Work()[0]
	outcome.TempFiles = files(t, temp)
	outcome.Processes = processesWith(tempVar + "=" + temp)
	return outcome
}

const tempVar = "TMPDIR"

// files returns the files and the empty directories below dir.
func files(t testing.TB, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
