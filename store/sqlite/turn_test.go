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

// If a process is suspended while it holds the right to write, the other processes do not wait
// for ever: they get an error. They can write again when the suspended process continues.
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
	for range 2 { // the first call starts an attempt in the background; the second call waits for the same attempt
		if err := waiting.enter(time.Millisecond, nil); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("enter while another process has the right to write: got error %v, want ErrUnavailable", err)
		}
	}
	quit := make(chan struct{})
	close(quit)
	if err := waiting.enter(time.Hour, quit); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("enter while the turnstile is closed: got error %v, want ErrUnavailable", err)
	}
	attempt := waiting.waiting
	stopped.leave()
	<-attempt.ended
	// The attempt got the locks when no caller was waiting any more, so it released the locks
	// again.
	if entered, err := stopped.try(); !entered || err != nil {
		t.Fatalf("after an attempt for which no caller was waiting: got entered %v, error %v; want entered true, because nobody holds the right to write", entered, err)
	}
	stopped.leave()
	if err := waiting.enter(time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	if err := flock(stopped.second, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("second lock while a writer has the right to write: got error %v, want EWOULDBLOCK", err)
	}
	waiting.leave()
}

// A caller whose context has ended gets an error at once, even if the writer still waits for the
// right to write.
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
		t.Errorf("ReserveIDs whose context ends while the writer waits: got error %v, want the error of the context", err)
	}
	if err := s.Close(); err != nil { // Close does not wait for the suspended process.
		t.Error(err)
	}
}

// An error of one request does not affect other requests that share its commit.
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
	release, err := s.writer.park(t.Context()) // all requests until the call of release share one commit
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
		t.Errorf("requests in one commit: %d got ErrConflict, want %d", conflicts, bad)
	}
}

// If a caller's transaction waits for a call of the store that cannot finish, the transaction
// ends at its time limit. Then the call can finish, too.
func TestATransactionCannotWaitForItself(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), &Options{TxLimit: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	outer := t.Context()
	err = s.Tx(outer, func(context.Context, *sql.Tx) error {
		// the call uses another context than the transaction's, because the store refuses calls
		// with the transaction's context
		_, err := s.ReserveIDs(outer, 1)
		return err
	})
	if err == nil {
		t.Error("Tx returned no error after its time limit, want an error and a rollback")
	}
	if _, err := s.ReserveIDs(outer, 1); err != nil {
		t.Errorf("write after the transaction has ended: got error %v, want none", err)
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
		t.Errorf("EnqueueTx with a transaction on another database file: got error %v, want ErrInvalid", err)
	}
}
