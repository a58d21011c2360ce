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

// turnstile lets the writers of several processes pass one after the other.
// SQLite alone lets them poll with growing sleeps, so that beside a busy writer
// another one waits for seconds. Here each waits in the kernel: it takes the
// first lock, then the second, and gives the first one back, so at most one
// writer waits for the second lock and none is overtaken twice.
//
// The locks are flock(2) on two empty files beside the database. Both vanish
// with the process that holds them.
type turnstile struct {
	path          string
	first, second *os.File
	waiting       *attempt // the last one; nil when it was through in time
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

// openLock opens a lock file, which gets the mode and owner of the database, so
// that whoever may use that may use this.
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
		return f, nil // a new database: its user's own
	}
	_ = f.Chmod(info.Mode().Perm()) // else others are told that they may not open it
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(owner.Uid), int(owner.Gid)) // as root; nobody else may or need
	}
	return f, nil
}

// enter returns when this process has the right to write. It gives up with an
// ErrUnavailable after a time, or when quit is closed.
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
		why = fmt.Errorf("database %s: another process has held the right to write for %s: it is stopped, or in a "+
			"transaction that does not end; see who has %s open: %w", t.path, atMost, t.second.Name(), store.ErrUnavailable)
	case <-quit:
		why = errClosed
	}
	if why != nil && t.waiting.want(false) {
		return why // the attempt goes on, and lets the next writer in when it is through
	}
	err := t.waiting.err
	t.waiting = nil
	return err
}

// attempt is a wait for the right to write that goes on in the background.
type attempt struct {
	ended chan struct{}
	err   error // once ended

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

// want says whether somebody waits for the attempt. It is false when that comes
// too late, because the attempt is over.
func (a *attempt) want(wanted bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.over {
		a.wanted = wanted
	}
	return !a.over
}

// try enters without waiting.
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

// wait enters however long it takes. It blocks its thread.
func (t *turnstile) wait() error {
	if err := flock(t.first, unix.LOCK_EX); err != nil {
		return err
	}
	return errors.Join(flock(t.second, unix.LOCK_EX), flock(t.first, unix.LOCK_UN))
}

// leave lets the next writer in. Unlocking a file of ours does not fail.
func (t *turnstile) leave() { _ = flock(t.second, unix.LOCK_UN) }

// close gives up what it holds. An attempt in the background ends when the
// process that holds it up does; its lock goes with its file.
func (t *turnstile) close() error {
	if t.waiting != nil && t.waiting.want(false) {
		go func() {
			<-t.waiting.ended
			_ = errors.Join(t.first.Close(), t.second.Close()) // nobody is left to be told
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
