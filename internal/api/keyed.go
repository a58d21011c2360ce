package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// A request for many jobs with an Idempotency-Key is stored before it is carried out, with the ids
// that its jobs get. So a repeat finds the answer; and if the server was killed before it wrote the
// answer, the repeat asks for the same jobs with the same ids, which adds those that do not exist.

// scope returns the scope of an Idempotency-Key in the store: a text that differs for each route,
// owner and access key.
func (c *Call) scope() string {
	sum := sha256.Sum256([]byte(c.Caller.Owner + "\x00" + c.Caller.Key + "\x00" + c.Route.Name))
	return c.Route.Name + " " + hex.EncodeToString(sum[:16])
}

// submitKeyed enqueues an array of jobs with an Idempotency-Key.
func (a *API) submitKeyed(c *Call, specs []redrive.Spec, body []byte, key string) error {
	ctx, scope := c.Context(), c.scope()
	first, err := a.client.ReserveIDs(ctx, len(specs))
	if err != nil {
		return err
	}
	digest := sha256.Sum256(append([]byte(c.Correlation+"\x00"), body...))
	began, existing, err := a.client.BeginRequest(ctx, redrive.Request{Scope: scope, Key: key, Digest: digest[:], First: first, N: len(specs)})
	switch {
	case errors.Is(err, redrive.ErrConflict):
		return KeyReused.Mistaken(Mistake{Header: headerKey, Detail: "the key belongs to another request; use a new key, or send the same request"})
	case err != nil:
		return err
	case existing && began.Status != 0:
		return c.replay(&began)
	case existing && began.N != len(specs):
		return Internal.New("The stored request has %d jobs, not %d.", began.N, len(specs))
	case existing && began.At.Add(a.o.CompletedKept) < job.At(a.o.Now()):
		p := OutcomeUnknown.New("The first request with this key has no answer, and jobs that it made may have been removed since: it is not known whether they existed.")
		p.IDs = idsFrom(began.First, began.N)
		return p
	}
	receipts, err := a.client.EnqueueAs(ctx, began.First, specs)
	if err != nil {
		return enqueueProblem(err, true)
	}
	status, answer := receiptsBody(receipts)
	if existing {
		c.W.Header().Set("Idempotent-Replayed", "true")
	}
	if err := a.client.EndRequest(ctx, scope, key, status, squeeze(answer)); err != nil {
		// The jobs are stored, and a repeat finds them by their ids.
		a.o.Logger.WarnContext(ctx, "the answer to a request with a key was not stored", "request", c.RequestID, "error", err)
	}
	return c.Bytes(status, "application/json", answer)
}

// replay answers with the stored answer of a request.
func (c *Call) replay(r *redrive.Request) error {
	body, err := expand(r.Body)
	if err != nil {
		return fmt.Errorf("read the stored answer of a request: %w", err)
	}
	c.W.Header().Set("Idempotent-Replayed", "true")
	return c.Bytes(r.Status, "application/json", body)
}

func idsFrom(first job.ID, n int) []job.ID {
	ids := make([]job.ID, n)
	for i := range ids {
		ids[i] = first + job.ID(i)
	}
	return ids
}

// squeeze compresses an answer, so that an answer with many receipts fits into a stored request.
func squeeze(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil {
		panic("compress into memory: " + err.Error())
	}
	return out.Bytes()
}

// answerMax is the largest number of bytes of an answer that is replayed.
const answerMax = 1 << 20

func expand(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, answerMax))
}
