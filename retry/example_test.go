package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// flaky returns an operation that fails twice and then succeeds.
func flaky() func(context.Context) (string, error) {
	calls := 0
	return func(context.Context) (string, error) {
		if calls++; calls < 3 {
			return "", errors.New("503 Service Unavailable")
		}
		return fmt.Sprintf("text of page 3, at call %d", calls), nil
	}
}

func ExampleDo() {
	ocr, err := retry.New("ocr", retry.Options{
		Retries:        3,
		Backoff:        backoff.Backoff{Formula: backoff.Exponential, First: 10 * time.Millisecond, Cap: time.Second, Jitter: backoff.Full},
		AttemptTimeout: time.Minute,
		Logger:         slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	read := flaky()
	text, err := retry.Do(context.Background(), ocr, func(ctx context.Context) (string, error) {
		return read(ctx) // pass ctx on, so that the read ends when the attempt ends
	})
	fmt.Println(text, err)
	// Output: text of page 3, at call 3 <nil>
}

func ExampleDo_error() {
	ocr, err := retry.New("ocr", retry.Options{Retries: retry.None, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = retry.Do(context.Background(), ocr, flaky())
	if e, ok := errors.AsType[*retry.Error](err); ok {
		fmt.Println(e)
		fmt.Println(e.Reason, e.Sends, e.Class.Class, errors.Is(err, retry.ErrExhausted))
	}
	// Output:
	// ocr retries exhausted: 503 Service Unavailable
	// exhausted 1 TemporaryServiceError true
}

func ExampleDoOr() {
	storage, err := retry.New("storage", retry.Options{Retries: retry.None, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := retry.DoOr(context.Background(), storage, flaky(), func(_ context.Context, err error) (string, error) {
		return "a fresh OCR", nil // the stored page is not available
	})
	fmt.Println(page, err)
	// Output: a fresh OCR <nil>
}

func ExamplePreset() {
	p, err := retry.Preset("openai", []string{"OPENAI_RETRY_MAX=5"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(p)
	// Output:
	// retry strategy "openai"
	//   Operation       openai  (default)
	//   Dependency      openai  (default)
	//   Retries         5  (OPENAI_RETRY_MAX)
	//   Backoff         2s × 2^(n−1), full jitter, cap 30s  (preset)
	//   AttemptTimeout  10m  (preset)
	//   HintCap         30s  (preset)
	//   HandOver        5m  (default)
	//   HandOverJitter  30s  (default)
	//   HandOverCap     24h  (default)
	//   Statuses        400-428 permanent, 430-499 permanent  (preset)
	//   Keyed           yes  (preset)
}

func ExamplePreset_mistakes() {
	_, err := retry.Preset("storage", []string{"STORAGE_RETRY_MAX=3abc", "STORAGE_RETRY_MAXIMUM=3"})
	fmt.Println(err)
	// Output:
	// retry preset "storage": STORAGE_RETRY_MAX is "3abc": must be a whole number from 0 to 100, digits only; leave it out for the default
	// STORAGE_RETRY_MAXIMUM: there is no such variable; there are STORAGE_RETRY_MAX, STORAGE_RETRY_BASE_MS and STORAGE_RETRY_MAX_BACKOFF_MS
}

func ExampleFrom() {
	p, err := retry.New("pay", retry.Options{Keyed: true, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	var key string
	_, err = retry.Do(context.Background(), p, func(ctx context.Context) (bool, error) {
		call := retry.From(ctx)
		if call.Attempt == 1 {
			key = call.Key
			return false, errors.New("connection reset by peer")
		}
		fmt.Println(call.Attempt, call.Key == key, call.Last)
		return true, nil
	})
	fmt.Println(err)
	// Output:
	// 2 true connection reset by peer
	// <nil>
}

func ExampleStop() {
	p, err := retry.New("upload", retry.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	sends := 0
	err = retry.DoErr(context.Background(), p, func(context.Context) error {
		sends++
		return retry.Stop(io.ErrUnexpectedEOF) // this error would be retried without Stop
	})
	fmt.Println(sends, errors.Is(err, io.ErrUnexpectedEOF))
	// Output: 1 true
}

func ExampleLogHandler() {
	log := slog.New(retry.LogHandler(os.Stdout, nil))
	p, err := retry.New("ocr", retry.Options{Logger: slog.New(hideTime{log.Handler()}), Retries: retry.None})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := retry.WithAttrs(context.Background(), "correlation_id", "c9", "job_id", "17", "shell_file_id", 4)
	_ = retry.DoErr(ctx, p, func(context.Context) error { return failure.Permanent(errors.New("401 Unauthorized")) })
	// Output:
	// {"level":"ERROR","retry_attempt":0,"max_retries":0,"operation":"ocr","delay_ms":0,"error_type":"AuthenticationFailure","error_status":0,"error_message":"401 Unauthorized","is_retryable":false,"correlation_id":"c9","job_id":"17","shell_file_id":4}
}

// hideTime removes the time from log lines, so that they can be compared.
type hideTime struct{ slog.Handler }

func (h hideTime) Handle(ctx context.Context, r slog.Record) error {
	r.Time = time.Time{}
	return h.Handler.Handle(ctx, r)
}
