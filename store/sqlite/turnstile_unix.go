//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redrive/redrive/store"
)

// turnstile lets the writers of several processes write one after the other. Without the turnstile,
// SQLite makes the writers poll with growing sleeps, and a second writer waits for seconds while
// another writer is busy. With the turnstile, each writer waits in the kernel: it takes the first
// lock, then the second lock, and then releases the first lock. So at most one writer waits for the
// second lock, and no writer is overtaken twice.
//
// The locks are flock(2) on two empty files beside the database. A lock ends with the
// process that holds it.
type turnstile struct {
	path          string
	first, second *os.File
	waiting       *attempt // the attempt of an earlier call that still waits although the call has ended; nil if there is no such attempt
}

func openTurnstile(path string) (*turnstile, error) {
	first, err := openLock(path, "-turn1")
	if err != nil {
		return nil, err
	}
	second, err := openLock(path, "-turn2")
	if err != nil {
		_ = first.Close()
		return nil, err
	}
	return &turnstile{path: path, first: first, second: second}, nil
}

// openLock opens a lock file. The lock file gets the mode and owner of the database file,
// so that the same users can use both files.
func openLock(path, suffix string) (*os.File, error) {
	f, err := os.OpenFile(path+suffix, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = createLock(path, suffix)
	}
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", readOnly(err))
	}
	return f, nil
}

func createLock(path, suffix string) (*os.File, error) {
	f, err := os.OpenFile(path+suffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return f, nil // the database is new and belongs to this user, so nothing must be changed
	}
	_ = f.Chmod(info.Mode().Perm()) // if this fails, other users get a clear error when they open the lock file
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(owner.Uid), int(owner.Gid)) // this works only for root; other users do not need it
	}
	return f, nil
}

// enter waits for the right to write and returns nil when this process has that right. It returns
// an ErrUnavailable after the time limit, or when the channel is closed.
func (t *turnstile) enter(atMost time.Duration, quit <-chan struct{}) error {
	if t.waiting == nil || !t.waiting.want(true) {
		if entered, err := t.try(); entered || err != nil {
			return err
		}
		t.waiting = t.attempt()
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	var why error
	select {
	case <-t.waiting.ended:
	case <-timer.C:
		why = fmt.Errorf("database %s: another process has held the right to write for %s: it is stopped or in a "+
			"transaction that does not end; see who has %s open: %w", t.path, atMost, t.second.Name(), store.ErrUnavailable)
	case <-quit:
		why = errClosed
	}
	if why != nil && t.waiting.want(false) {
		return why // the attempt stays in the background; when it gets the locks, it releases them at once
	}
	err := t.waiting.err
	t.waiting = nil
	return err
}

// attempt is a goroutine that waits for the right to write.
type attempt struct {
	ended chan struct{} // closed when the attempt has ended
	err   error         // the result of the attempt; read it after ended is closed

	mu     sync.Mutex
	wanted bool
	over   bool
}

func (t *turnstile) attempt() *attempt {
	a := &attempt{ended: make(chan struct{}), wanted: true}
	go func() {
		defer close(a.ended)
		a.err = t.wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.over = true; !a.wanted && a.err == nil {
			t.leave()
		}
	}()
	return a
}

// want records whether a caller waits for the attempt. It returns false if the attempt has already
// ended.
func (a *attempt) want(wanted bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.wanted = wanted
	}
	return !a.over
}

// try takes the right to write if no other process has it. It does not wait.
func (t *turnstile) try() (bool, error) {
	if err := flock(t.first, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return false, unlessHeld(err)
	}
	err := flock(t.second, unix.LOCK_EX|unix.LOCK_NB)
	return err == nil, errors.Join(unlessHeld(err), flock(t.first, unix.LOCK_UN))
}

func unlessHeld(err error) error {
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	}
	return err
}

// wait waits for the right to write without a time limit. It blocks its thread.
func (t *turnstile) wait() error {
	if err := flock(t.first, unix.LOCK_EX); err != nil {
		return err
	}
	return errors.Join(flock(t.second, unix.LOCK_EX), flock(t.first, unix.LOCK_UN))
}

// leave gives up the right to write, so that the next writer gets it. It ignores errors,
// because unlocking an open file does not fail.
func (t *turnstile) leave() { _ = flock(t.second, unix.LOCK_UN) }

// close releases the locks and closes their files. If an attempt still waits in the background, the
// files are closed when the attempt ends, after the other process has released its lock.
func (t *turnstile) close() error {
	if t.waiting != nil && t.waiting.want(false) {
		go func() {
			<-t.waiting.ended
			_ = errors.Join(t.first.Close(), t.second.Close()) // nobody waits for the result, so the error is ignored
		}()
		return nil
	}
	return errors.Join(t.first.Close(), t.second.Close())
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
