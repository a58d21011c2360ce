//go:build unix

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A process that was stopped while it held the right to write must not block the others for ever.
// They get an error, and continue when that process continues.
func TestAStoppedWriterBlocksNoOtherForEver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	stopped, err := openTurnstile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.close()
	if entered, err := stopped.try(); !entered || err != nil {
		t.Fatal(entered, err)
	}
	waiting, err := openTurnstile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.close()
	for range 2 { // the second call waits for the same attempt
		if err := waiting.enter(time.Millisecond, nil); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("enter while another process has the right: got error %v", err)
		}
	}
	quit := make(chan struct{})
	close(quit)
	if err := waiting.enter(time.Hour, quit); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("enter while the turnstile closes: got error %v", err)
	}
	attempt := waiting.waiting
	stopped.leave()
	<-attempt.ended
	// The attempt had no waiting caller when it got the locks, so it released them.
	if entered, err := stopped.try(); !entered || err != nil {
		t.Fatalf("an abandoned attempt kept the right to write: entered %v, error %v", entered, err)
	}
	stopped.leave()
	if err := waiting.enter(time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	if err := flock(stopped.second, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("two writers have the right to write: error %v", err)
	}
	waiting.leave()
}

// A caller whose context has ended gets its answer, although the writer still waits.
func TestAWaitingWriterLetsItsCallersGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	stopped, err := openTurnstile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.close()
	if entered, err := stopped.try(); !entered || err != nil {
		t.Fatal(entered, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.ReserveIDs(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ReserveIDs with an ended context: got error %v", err)
	}
	if err := s.Close(); err != nil { // Close does not wait for the stopped process
		t.Error(err)
	}
}

// An error of one request does not affect the others in its commit.
func TestARefusedRequestAffectsNoOther(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first, err := s.ReserveIDs(t.Context(), 200)
	if err != nil {
		t.Fatal(err)
	}
	enqueue := func(id job.ID, payload int) error {
		_, err := s.Enqueue(t.Context(), []job.New{{ID: id, Kind: "k", Queue: "q", Priority: 2, Payload: make([]byte, payload)}})
		return err
	}
	if err := enqueue(first, 2000); err != nil {
		t.Fatal(err)
	}
	release, err := s.writer.park(t.Context()) // makes the following requests share a commit
	if err != nil {
		t.Fatal(err)
	}
	const good, bad = 20, 5
	errs := make(chan error, good+bad)
	for i := range good {
		go func() { errs <- enqueue(first+1+job.ID(i), 2000) }()
	}
	for range bad {
		go func() { errs <- enqueue(first, 2000) }()
	}
	release()
	conflicts := 0
	for range good + bad {
		switch err := <-errs; {
		case errors.Is(err, store.ErrConflict):
			conflicts++
		case err != nil:
			t.Error(err)
		}
	}
	if conflicts != bad {
		t.Errorf("got %d conflicts, want %d", conflicts, bad)
	}
}

// A caller's own transaction that waits for the store ends at its limit, and so does the
// call that it waits for.
func TestATransactionCannotWaitForItself(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), &Options{TxLimit: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	outer := t.Context()
	err = s.Tx(outer, func(context.Context, *sql.Tx) error {
		_, err := s.ReserveIDs(outer, 1) // with the transaction's own context the call would be refused
		return err
	})
	if err == nil {
		t.Error("a transaction past its time limit was committed")
	}
	if _, err := s.ReserveIDs(outer, 1); err != nil {
		t.Errorf("a write after that transaction: got error %v", err)
	}
}

func TestATransactionOfAnotherFileIsRefused(t *testing.T) {
	t.Parallel()
	var stores [2]*Store
	for i := range stores {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores[i] = s
	}
	err := stores[1].Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := stores[0].EnqueueTx(ctx, Tx(tx), []job.New{{ID: 1, Kind: "k", Queue: "q", Priority: 2}})
		return err
	})
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("EnqueueTx with a transaction of another file: got error %v", err)
	}
}
