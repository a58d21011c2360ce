package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/stream"
	"github.com/redrive/redrive/stream/document"
	"github.com/redrive/redrive/stream/mark"
	"github.com/redrive/redrive/stream/project"
)

// closeMax is the longest time for which the end waits for MongoDB.
const closeMax = 5 * time.Second

// servers adds Redis and MongoDB to the stream, as the configuration says. end closes the connections.
func (c *flags) servers(cfg *stream.Config) (end func() error, err error) {
	var ends []func() error
	end = func() (err error) {
		for _, f := range ends {
			err = errors.Join(err, f())
		}
		return err
	}
	cfg.Marks = map[string]project.Marker{}
	if m := c.marks; m != nil {
		password, err := secretOf(m.PasswordFile)
		if err != nil {
			return end, err
		}
		r, err := mark.Open(&mark.Options{URL: m.Redis.Reveal(), Password: password, TTL: m.TTL, Log: cfg.Log})
		if err != nil {
			return end, usageError{err}
		}
		ends = append(ends, r.Close)
		cfg.Processed, cfg.Marks["marks"] = append(cfg.Processed, r), r
	}
	if c.documents == nil {
		return end, nil
	}
	d, err := openDocuments(c.documents)
	if err != nil {
		return end, err
	}
	ends = append(ends, func() error {
		ctx, stop := context.WithTimeout(context.Background(), closeMax)
		defer stop()
		return d.Close(ctx)
	})
	cfg.Documents, cfg.Marks["document-marks"] = d, d
	if c.documents.Read {
		cfg.Processed = append(cfg.Processed, stream.Processed(reads{d, c.documents.Go}))
	}
	return end, nil
}

func openDocuments(c *config.StreamDocuments) (*document.Documents, error) {
	password, err := secretOf(c.PasswordFile)
	if err != nil {
		return nil, err
	}
	d, err := document.Open(&document.Options{URL: c.MongoDB.Reveal(), Password: password, Database: c.Database, Dead: c.Dead, Marks: c.Marks})
	if err != nil {
		return nil, usageError{err}
	}
	return d, nil
}

// reads are the marks in MongoDB. While it is away, records wait, or are taken.
type reads struct {
	*document.Documents
	without bool
}

func (r reads) Processed(ctx context.Context, keys []string) ([]bool, error) {
	found, err := r.Documents.Processed(ctx, keys)
	if err != nil && r.without {
		return make([]bool, len(keys)), nil
	}
	return found, err //nolint:wrapcheck // it names its server
}

// secretOf reads the password of a file; "" without a file.
func secretOf(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", usageError{fmt.Errorf("password: %w", err)}
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

type rebuildCmd struct {
	flags
	Sink string `arg:"" help:"What to write anew: documents, marks (in Redis) or document-marks (in MongoDB)."`
}

func (c *rebuildCmd) run(ctx context.Context, stdout io.Writer) error {
	return c.onStore(ctx, func(client *redrive.Client, cfg *stream.Config) error {
		end, err := c.servers(cfg)
		if err == nil {
			err = c.rebuild(ctx, client, cfg, stdout)
		}
		return errors.Join(err, end())
	})
}

func (c *rebuildCmd) rebuild(ctx context.Context, client *redrive.Client, cfg *stream.Config, stdout io.Writer) error {
	r, err := stream.Rebuild(ctx, client, cfg, c.Sink)
	if r.Written > 0 || err == nil {
		fmt.Fprintf(stdout, "%s written, %d removed, %d that cannot be written\n", words.Count(r.Written, "job"), r.Removed, r.Refused)
	}
	return err
}

// indexes makes the indexes of the documents that are missing.
func (c *flags) indexes(ctx context.Context, stdout io.Writer) error {
	d, err := openDocuments(c.documents)
	if err != nil {
		return err
	}
	err = d.Init(ctx)
	if err == nil {
		fmt.Fprintf(stdout, "the collections %s and %s have their indexes\n", c.documents.Dead, c.documents.Marks)
	}
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), closeMax)
	defer stop()
	return errors.Join(err, d.Close(ending))
}
