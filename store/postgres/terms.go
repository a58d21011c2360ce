package postgres

import (
	"context"
	"sync"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// termNumbers are numbers of stored terms that this process has read at one version of the
// settings (see knownLanes). Terms are never removed, and storing new terms raises the
// version. So if the store has failed over to a server that has lost the row of a number,
// the version differs there, and the numbers are dropped with the catalogue.
type termNumbers struct {
	mu      sync.RWMutex
	numbers map[string]int64
}

func newTermNumbers() *termNumbers { return &termNumbers{numbers: make(map[string]int64)} }

// termsMax is the maximum number of terms that a process remembers. The numbers of
// further ones are read in each transaction.
const termsMax = 16 << 10

// id returns the number of encoded terms; 0 when it is not known, and for the defaults.
func (n *termNumbers) id(terms string) int64 {
	if terms == "" || n == nil {
		return 0
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.numbers[terms]
}

// add remembers a number. It does nothing if n is nil.
func (n *termNumbers) add(terms string, id int64) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.numbers) < termsMax {
		n.numbers[terms] = id
	}
}

// storeTerms stores the terms of jobs before the jobs are written. Inside a transaction
// that others may have to wait for, they would have to wait for the terms, too.
func (s *Store) storeTerms(ctx context.Context, jobs []job.New) error {
	return s.numberTerms(ctx, func(known *termNumbers) (missing []string) {
		for i := range jobs {
			if terms := jobs[i].Terms; terms != "" && known.id(terms) == 0 {
				missing = append(missing, terms)
			}
		}
		return missing
	})
}

// storeWantedTerms does the same for the terms of a claim.
func (s *Store) storeWantedTerms(ctx context.Context, wants []store.Want) error {
	return s.numberTerms(ctx, func(known *termNumbers) (missing []string) {
		for i := range wants {
			for k := range wants[i].Kinds {
				if terms := wants[i].Kinds[k].Terms; terms != "" && known.id(terms) == 0 {
					missing = append(missing, terms)
				}
			}
		}
		return missing
	})
}

// numberTerms reads the numbers of terms that are not known, and stores the terms if
// necessary. Storing them raises the version; a second transaction then reads their numbers
// at the new version. The function unknown returns the terms whose numbers are not known.
func (s *Store) numberTerms(ctx context.Context, unknown func(*termNumbers) []string) error {
	for range 2 {
		var numbers *termNumbers
		if known := s.hot.known.Load(); known != nil {
			numbers = known.terms
		}
		missing := unknown(numbers)
		if len(missing) == 0 {
			return nil
		}
		err := s.write(ctx, func(t *sqlstore.Txn) error {
			for _, terms := range missing {
				if _, err := t.TermsID(terms); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
