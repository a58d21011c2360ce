package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// settings are the settings of the program.
type settings struct {
	APIs      string            // the address of the OCR API and of the language model
	VisionKey string            // the API key for the OCR API
	ModelKeys map[string]string // the API keys for the language model, by account
	Bucket    *blob.Bucket
	// Environ is a list of environment variables that change the presets, such as
	// OPENAI_RETRY_MAX=5. If it is nil, the environment of the process is used.
	Environ []string
	Change  func(*retry.Options) // a function that changes the options of every strategy, such as clock, hooks and logger; may be nil
}

// calls are the eight calls of the program, each with its retry strategy.
type calls struct {
	vision *vision
	model  *model
	keys   map[string]string
	bucket *blob.Bucket

	fileDownload, manifestDownload, pageDownload *retry.Strategy
	ocr                                          *retry.Strategy
	pageUpload, manifestUpload                   *retry.Strategy
	languageModel                                *retry.Strategy
	imageUpload                                  *retry.Strategy
}

// newCalls makes the strategies from the three presets. All calls of a preset share one dependency.
// Each call has its own name in errors, log lines and counters.
func newCalls(s *settings) (*calls, error) {
	client := &http.Client{Transport: httpretry.Count(nil)} // this transport counts requests and does not retry them
	c := &calls{
		vision: &vision{s.APIs, s.VisionKey, client}, model: &model{s.APIs, client}, keys: s.ModelKeys, bucket: s.Bucket,
	}
	var errs []error
	for _, call := range []struct {
		into              **retry.Strategy
		preset, operation string
	}{
		{&c.fileDownload, "storage", "file download"},
		{&c.manifestDownload, "storage", "manifest download"},
		{&c.pageDownload, "storage", "page download"},
		{&c.ocr, "google-vision", "OCR"},
		{&c.pageUpload, "storage", "page upload"},
		{&c.manifestUpload, "storage", "manifest upload"},
		{&c.languageModel, "openai", "language model"},
		{&c.imageUpload, "storage", "processed-image upload"},
	} {
		p, err := retry.Preset(call.preset, s.Environ)
		if err == nil {
			p, err = p.With(func(o *retry.Options) {
				o.Operation = call.operation
				if s.Change != nil {
					s.Change(o)
				}
			})
		}
		*call.into = p
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

// load reads a whole object. If the connection breaks in the middle of the body, the next
// attempt reads the object from the start.
func (c *calls) load(key string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) { return c.bucket.ReadAll(ctx, key) }
}

// loadJSON reads a JSON object. A missing object is not a failure: the result is then nil.
func loadJSON[T any](c *calls, key string) func(context.Context) (*T, error) {
	return func(ctx context.Context) (*T, error) {
		content, err := c.bucket.ReadAll(ctx, key)
		if gcerrors.Code(err) == gcerrors.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		into := new(T)
		if err := json.Unmarshal(content, into); err != nil {
			return nil, fmt.Errorf("decode the object %s: %w", key, err)
		}
		return into, nil
	}
}

// save writes an object. A failed attempt stores no object, not even a part.
func (c *calls) save(key, contentType string, content []byte) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.bucket.Upload(ctx, key, bytes.NewReader(content), &blob.WriterOptions{ContentType: contentType})
	}
}

func saveJSON(ctx context.Context, c *calls, p *retry.Strategy, key string, v any) error {
	content, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	_, err = retry.Do(ctx, p, c.save(key, "application/json", content))
	return err
}
