package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

func TestError_HasAllDetails(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{Retries: 40, Backoff: backoff.Backoff{Waits: []time.Duration{time.Second}}})
	_, err := retry.Do(t.Context(), r.Strategy, always(&status{code: 503, after: 2 * time.Second}).op)
	e := failedWith(t, err)
	if len(e.Attempts) != retry.AttemptsKept || e.Sends != 41 || e.Waited != 40*2500*time.Millisecond || e.Hint != 2*time.Second {
		t.Errorf("the error has %d attempts, %d sends, waits of %v and the hint %v; want %d attempts, 41 sends, waits of 1m40s and the hint 2s", len(e.Attempts), e.Sends, e.Waited, e.Hint, retry.AttemptsKept)
	}
	if e.Class.Class != failure.TemporaryServiceError || e.Operation != "ocr" || !strings.HasPrefix(err.Error(), "ocr retries exhausted: ") {
		t.Errorf("got the error %+v; want class TemporaryServiceError, operation ocr and a text about exhausted retries", e)
	}
	var s *status
	if !errors.As(err, &s) || s.code != 503 {
		t.Error("errors.As does not find the cause with status 503 in the error, want it found")
	}
	for _, is := range []error{retry.ErrPermanent, retry.ErrDeadline, retry.ErrCancelled, retry.ErrHint} {
		if errors.Is(err, is) {
			t.Errorf("the error also matches %v, want errors.Is to find only the error of its reason", is)
		}
	}
}

// A job's policy gives the error of a call the same class as the cause of that error.
func TestError_IsClassifiedLikeItsCause(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{
		unavailable, &status{code: 429, after: time.Second}, &status{code: 401}, errors.New("rate limit exceeded"),
		errors.New("connection reset by peer"), fmt.Errorf("read: %w", io.ErrUnexpectedEOF), errors.New("something odd"),
		errors.New("invalid api key"), errors.New("out of memory"), context.DeadlineExceeded,
	} {
		for _, ctx := range []context.Context{t.Context(), first(inJob(t))} {
			for _, o := range []retry.Options{{}, {Retries: retry.None}, {RetryUnknown: true}, {RetryUnknown: true, MaxElapsed: 1}, {RetryUnknown: true, HintCap: 1}} {
				r := newRig(t, 0.5, o)
				_, err := retry.Do(ctx, r.Strategy, always(cause).op)
				a, b := failure.Of(cause), failure.Of(err)
				want, got := classify.Builtin().Classify(&a, ""), classify.Builtin().Classify(&b, "")
				a.Message, b.Message, b.HandOver = "", "", 0
				if got.Class != want.Class || got.Verdict != want.Verdict || !slices.Equal(a.Types, b.Types) || a.HTTPStatus != b.HTTPStatus {
					t.Errorf("%v: got class %s by the rule %s, want %s by %s; got the error types %v, want %v", err, got.Class, got.Rule, want.Class, want.Rule, b.Types, a.Types)
				}
			}
		}
	}
}
