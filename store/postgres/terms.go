package postgres

import (
	"context"
	"sync"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// termNumbers are the numbers of stored terms that this process has used. Terms are
// never removed, so a number stays valid.
type termNumbers struct {
	mu      sync.RWMutex
	numbers map[string]int64
}

// termsMax is the maximum number of terms that a process remembers. The numbers of
// further ones are read in each transaction.
const termsMax = 16 << 10

// id returns the number of encoded terms; 0 when it is not known, and for the defaults.
func (n *termNumbers) id(terms string) int64 {
	if terms == "" {
		return 0
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.numbers[terms]
}

func (n *termNumbers) add(numbers map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for terms, id := range numbers {
		if len(n.numbers) < termsMax {
			n.numbers[terms] = id
		}
	}
}

// unknown returns the terms of jobs whose numbers are not known.
func (n *termNumbers) unknown(jobs []job.New) (missing []string) {
	for i := range jobs {
		if terms := jobs[i].Terms; terms != "" && n.id(terms) == 0 {
			missing = append(missing, terms)
		}
	}
	return missing
}

// storeTerms stores the terms of jobs before the jobs are written. Inside a transaction
// that others may have to wait for, they would have to wait for the terms, too.
func (s *Store) storeTerms(ctx context.Context, jobs []job.New) error {
	return s.numberTerms(ctx, s.hot.terms.unknown(jobs))
}

// storeWantedTerms does the same for the terms of a claim.
func (s *Store) storeWantedTerms(ctx context.Context, wants []store.Want) error {
	var missing []string
	for i := range wants {
		for k := range wants[i].Kinds {
			if terms := wants[i].Kinds[k].Terms; terms != "" && s.hot.terms.id(terms) == 0 {
				missing = append(missing, terms)
			}
		}
	}
	return s.numberTerms(ctx, missing)
}

func (s *Store) numberTerms(ctx context.Context, all []string) error {
	if len(all) == 0 {
		return nil
	}
	var numbers map[string]int64
	err := s.write(ctx, func(t *sqlstore.Txn) error {
		numbers = make(map[string]int64, len(all))
		for _, terms := range all {
			id, err := t.TermsID(terms)
			if err != nil {
				return err
			}
			numbers[terms] = id
		}
		return nil
	})
	if err == nil {
		s.hot.terms.add(numbers)
	}
	return err
}
