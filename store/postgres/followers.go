package postgres

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
)

// followEvery is how often a process with followers asks for the newest event that can be
// read. With the time for the question, a follower learns of a commit within 50 ms.
const followEvery = 30 * time.Millisecond

var selInSight = &sqlstore.Query{Name: "selInSight"}

// followers are the callers of Follow. They are woken after each commit of this process at
// once. Commits of other processes, and those that could not be read at once because an older
// transaction was under way, are found by asking for the newest event that can be read. A
// store without followers does not ask.
type followers struct {
	n     atomic.Int32
	begun chan struct{} // says that there are followers

	mu   sync.Mutex
	subs map[int]chan<- struct{}
	next int
}

func newFollowers() *followers {
	return &followers{begun: make(chan struct{}, 1), subs: make(map[int]chan<- struct{})}
}

// Follow implements store.Reader.
func (s *Store) Follow(ch chan<- struct{}) (stop func()) {
	f := s.followers
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.next
	f.next++
	f.subs[id] = ch
	f.n.Store(int32(len(f.subs)))
	select {
	case f.begun <- struct{}{}:
	default:
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, id)
		f.n.Store(int32(len(f.subs)))
	}
}

// wake wakes all followers.
func (f *followers) wake() {
	if f.n.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ch := range f.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// followAll finds new events for followers, until the store is closed.
func (s *Store) followAll() {
	ctx, cancel := s.untilClosed()
	defer cancel()
	asking := trouble{s: s, what: "new events of other processes are not found"}
	for {
		select {
		case <-s.closed:
			return
		case <-s.followers.begun:
		}
		for seen := int64(-1); s.followers.n.Load() > 0; {
			newest := int64(0)
			err := s.read(ctx, func(c sqlstore.Session) (err error) {
				newest, err = sqlstore.ReadInt(c, selInSight)
				return err
			})
			if ctx.Err() != nil {
				return
			}
			asking.see(err)
			if err == nil && newest != seen {
				seen = newest
				s.followers.wake()
			}
			if s.wait(ctx, followEvery) != nil {
				return
			}
		}
	}
}
