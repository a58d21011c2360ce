package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
)

// watcher notifies the callers of Notify. The writer of this process reports its commits
// directly. The watcher finds commits of other processes by reading SQLite's data_version,
// which changes with every commit of another connection. This read takes microseconds.
type watcher struct {
	mu        sync.Mutex
	subs      map[int]chan<- struct{} // the callers of Notify
	followers map[int]chan<- struct{} // the callers of Follow
	next      int
	follows   atomic.Int32 // number of followers

	replaced atomic.Bool // whether the file at the path is not the open file any more

	quit  chan struct{}
	ended chan struct{}
}

func newWatcher() *watcher {
	return &watcher{subs: make(map[int]chan<- struct{}), followers: make(map[int]chan<- struct{}), quit: make(chan struct{})}
}

func (w *watcher) subscribe(ch chan<- struct{}) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.next
	w.next++
	w.subs[id] = ch
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.subs, id)
	}
}

// tell sends to every channel of a Notify caller, without blocking: a channel that is full is
// skipped.
func (w *watcher) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// follow adds a follower.
func (w *watcher) follow(ch chan<- struct{}) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.next
	w.next++
	w.followers[id] = ch
	w.follows.Store(int32(len(w.followers)))
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.followers, id)
		w.follows.Store(int32(len(w.followers)))
	}
}

// tellFollowers sends to every channel of a Follow caller, without blocking: a channel that is full
// is skipped.
func (w *watcher) tellFollowers() {
	if w.follows.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.followers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (w *watcher) start(path string, every time.Duration) error {
	conn, err := connect(path, roleReader)
	if err != nil {
		return err
	}
	file, err := os.Stat(path)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	w.ended = make(chan struct{})
	go w.run(conn, every, func() bool {
		now, err := os.Stat(path)
		return err == nil && !os.SameFile(file, now) || errors.Is(err, fs.ErrNotExist)
	})
	return nil
}

// lookEvery is the interval at which the watcher checks whether the file was deleted or replaced. A
// deleted file still accepts writes, but the writes are lost when the last process closes the file.
const lookEvery = 500 * time.Millisecond

func (w *watcher) run(conn *sqlite.Conn, every time.Duration, replaced func() bool) {
	defer close(w.ended)
	defer conn.Close()
	s := newNative(conn)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var seen int64
	looks := max(1, int(lookEvery/every))
	for tick := 1; ; tick++ {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
		}
		if tick%looks == 0 && !w.replaced.Load() && replaced() {
			w.replaced.Store(true)
		}
		version, err := sqlstore.ReadInt(s, selVersion)
		if err != nil {
			continue // the file is busy or the disk is full; nothing is lost, because the engines also poll
		}
		if version != seen {
			w.tell()
			w.tellFollowers()
		}
		seen = version
	}
}

func (w *watcher) stop() error {
	if w.ended == nil {
		return nil
	}
	close(w.quit)
	<-w.ended
	return nil
}
