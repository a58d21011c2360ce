package sqlstore

import (
	"crypto/sha256"

	"github.com/redrive/redrive/job"
)

// Terms say how the policy treats crashes and deadlines. They are the same for all jobs
// of a kind and policy, so a job's row contains only their number; NULL means the
// defaults. The numbers are cached, so that an enqueue and a claim write one additional
// number but read nothing. Terms are read when a run has crashed or a deadline has
// passed. No sweep removes them: there is one row for each different text.
var (
	selTermsID = declare("selTermsID", `SELECT id FROM redrive_terms WHERE digest = ?`)
	insTerms   = declare("insTerms", `INSERT INTO redrive_terms (digest, body) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING RETURNING id`)
	selTerms   = declare("selTerms", `SELECT body FROM redrive_terms WHERE id = ?`)
)

// termsMax is the maximum number of terms in the cache of a catalogue.
const termsMax = 4096

// TermsID returns the number of encoded terms. It stores the terms if necessary. The
// number is 0 for the defaults.
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

// findTerms is TermsID without the caches. It is separate from TermsID, because its
// closure needs an allocation in each call.
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
		if id == 0 { // another transaction has stored the terms in the meantime
			return 0, ErrAgain
		}
		t.wrote = true
		if t.hooks.StoredTerms != nil {
			err = t.hooks.StoredTerms()
		}
	}
	return id, err
}

// termsOf returns the terms of a job. Terms that cannot be read are replaced by the
// defaults, so that the job can end; a newer version of this program may have stored them.
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
