package sqlstore

import (
	"crypto/sha256"

	"github.com/redrive/redrive/job"
)

// Terms are the part of the policy about crashes and deadlines. All jobs of a kind and policy
// have the same terms, so a job's row contains only their number; NULL means the default
// terms. The numbers are cached, so that an enqueue and a claim write one additional number
// but read nothing. Terms are read when a run has crashed or a deadline has passed. No sweep
// removes terms, because each different text has only one row.
var (
	selTermsID = ask("selTermsID")
	insTerms   = ask("insTerms")
	selTerms   = ask("selTerms")
)

// termsMax is the maximum number of terms that a catalogue caches.
const termsMax = 4096

// TermsID returns the number of encoded terms. If the terms are not stored yet, TermsID stores
// them. The number of the default terms is 0.
func (t *Txn) TermsID(terms string) (id int64, err error) {
	if terms == "" {
		return 0, nil
	}
	if t.hooks.TermsID != nil {
		if id = t.hooks.TermsID(terms); id != 0 {
			return id, nil
		}
	}
	if id = t.cat.terms[terms]; id != 0 {
		return id, nil
	}
	if id, err = t.findTerms(terms); err != nil {
		return 0, err
	}
	if t.cat.terms == nil || len(t.cat.terms) >= termsMax {
		t.cat.terms = make(map[string]int64)
	}
	t.cat.terms[terms] = id
	return id, nil
}

// findTerms does the work of TermsID for terms that are not in the cache. It is a separate
// function, because its closure allocates memory in each call.
func (t *Txn) findTerms(terms string) (id int64, err error) {
	digest := sha256.Sum256([]byte(terms))
	scan := func(r Row) error { id = r.Int(0); return nil }
	if err = t.rows(selTermsID, scan, blob(digest[:])); err != nil {
		return 0, err
	}
	if id != 0 && t.hooks.KeepTermsID != nil {
		t.hooks.KeepTermsID(terms, id)
	}
	if id == 0 {
		if err = t.rows(insTerms, scan, blob(digest[:]), blob([]byte(terms))); err != nil {
			return 0, err
		}
		if id == 0 { // another transaction has stored the same terms in the meantime
			return 0, ErrAgain
		}
		t.wrote = true
		if t.hooks.StoredTerms != nil {
			err = t.hooks.StoredTerms()
		}
	}
	return id, err
}

// termsOf returns the terms of a job. If it cannot decode the terms, it returns the default
// terms, so that the job can end. A newer version of this program may have stored terms that
// this version cannot decode.
func (t *Txn) termsOf(r *Run) (terms job.Terms, err error) {
	if r.terms == 0 {
		return terms, nil
	}
	if terms, ok := t.cat.termsByID[r.terms]; ok {
		return terms, nil
	}
	err = t.rows(selTerms, func(row Row) error {
		if read, err := job.ParseTerms(string(row.Blob(0))); err == nil {
			terms = read
		}
		return nil
	}, num(r.terms))
	if err != nil {
		return terms, err
	}
	if t.cat.termsByID == nil || len(t.cat.termsByID) >= termsMax {
		t.cat.termsByID = make(map[int64]job.Terms)
	}
	t.cat.termsByID[r.terms] = terms
	return terms, nil
}
