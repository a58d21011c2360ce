package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/redrive/redrive/internal/jsonpatch"
	"github.com/redrive/redrive/job"
)

// PayloadPatch changes the payloads of the jobs that a redrive releases.
type PayloadPatch struct {
	patch jsonpatch.Patch
	limit int
}

// NewPayloadPatch returns the patch of a redrive in a form that can be applied. If the redrive
// has no patch, it returns nil. The error is an ErrInvalid that names the wrong operation.
func NewPayloadPatch(r *RedriveSpec) (*PayloadPatch, error) {
	if r.Patch == nil {
		return nil, nil
	}
	p, err := jsonpatch.Parse(r.Patch)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	limit := r.PayloadMax
	if limit == 0 {
		limit = job.PayloadMax
	}
	return &PayloadPatch{p, limit}, nil
}

// Apply returns the payload of a job after the patch. It does not change the bytes of the payload
// outside the values that the patch changes. The error says why the patch does not apply, and
// names the job.
func (p *PayloadPatch) Apply(id job.ID, payload []byte) ([]byte, error) {
	patched, err := p.patch.Apply(payload, p.limit)
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", id, err)
	}
	return patched, nil
}

// validatePatch returns an ErrInvalid if the patch or the maximum size of payloads is wrong.
func (r *RedriveSpec) validatePatch() error {
	if r.PayloadMax < 0 || r.PayloadMax > job.PayloadMax || r.PayloadMax != 0 && r.Patch == nil {
		return fmt.Errorf("redrive: payloads of at most %d bytes: the limit must be 1 to %d, or 0 for %d, and it needs a patch: %w",
			r.PayloadMax, job.PayloadMax, job.PayloadMax, ErrInvalid)
	}
	_, err := NewPayloadPatch(r)
	return err
}

// shownPatch returns what the audit log shows of the patch. A patch may contain secrets, so only
// its size and the start of its SHA-256 are shown.
func (r *RedriveSpec) shownPatch() *shownBytes {
	if r.Patch == nil {
		return nil
	}
	return shownHash(r.Patch)
}

func shownHash(text []byte) *shownBytes {
	sum := sha256.Sum256(text)
	return &shownBytes{len(text), hex.EncodeToString(sum[:sha256.Size/2])}
}
