package claims

import (
	"slices"
	"sync"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// Unconfirmed is one job of a claim that may have happened. The token alone does not name
// the claim: when it did not happen, the next one has the same.
type Unconfirmed struct {
	Run    *sqlstore.Run
	Holder string
	At     job.Micros
	// PID is the server's process that the claim was sent to, 0 when that is not known.
	// When it has ended, so has the claim.
	PID uint32
}

// UnconfirmedClaims are the claims that may have happened, and those of them that could not be
// given back yet.
type UnconfirmedClaims struct {
	mu   sync.Mutex
	all  []Unconfirmed
	Turn chan struct{} // of one: the goroutine that finds out
	Wake chan struct{} // of one: there are unconfirmed claims
}

// NewUnconfirmedClaims returns an empty list.
func NewUnconfirmedClaims() *UnconfirmedClaims {
	return &UnconfirmedClaims{Turn: make(chan struct{}, 1), Wake: make(chan struct{}, 1)}
}

// List returns them all.
func (u *UnconfirmedClaims) List() []Unconfirmed {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clip(u.all)
}

// Add takes in what a claim has tried: runs that its holder has wanted to begin at a time, by a process of the server.
func (u *UnconfirmedClaims) Add(runs []*sqlstore.Run, holder string, at job.Micros, pid uint32) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range runs {
		u.all = append(u.all, Unconfirmed{r, holder, at, pid})
	}
	if len(u.all) > 0 {
		select {
		case u.Wake <- struct{}{}:
		default:
		}
	}
}

// Resolved replaces the first n by those of them that are left.
func (u *UnconfirmedClaims) Resolved(n int, left []Unconfirmed) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(left, u.all[n:]...)
}
