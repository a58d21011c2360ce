package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/stream"
	"github.com/redrive/redrive/stream/kafka"
)

type checkCmd struct{ flags }

// run prints what is wrong. It needs no database: only the policy is asked for the longest wait.
func (c *checkCmd) run(ctx context.Context, stdout io.Writer) error {
	client, cfg, err := c.client()
	if err != nil {
		return err
	}
	found, err := stream.Check(ctx, client, cfg)
	if err != nil {
		return err
	}
	refused := &kafka.Refused{}
	for _, f := range found {
		if f.Refuse {
			refused.Findings = append(refused.Findings, f)
			continue
		}
		fmt.Fprintf(stdout, "warning: %s\n", f)
	}
	if len(refused.Findings) > 0 {
		return refused
	}
	fmt.Fprintf(stdout, "the stream %s can start\n", cfg.Name)
	return nil
}

// client returns a client on an empty store in memory.
func (c *flags) client() (*redrive.Client, *stream.Config, error) {
	_, cfg, err := c.prepared(slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	s := memory.New(memory.Options{})
	cfg.Store = s // nothing is written
	client, err := redrive.New(s, nil)
	return client, cfg, err
}

type initCmd struct{ flags }

func (c *initCmd) run(ctx context.Context, stdout io.Writer) error {
	client, cfg, err := c.client()
	if err != nil {
		return err
	}
	if c.documents != nil { // their indexes
		if err := c.indexes(ctx, stdout); err != nil {
			return err
		}
	}
	if cfg.Retry == "" && c.documents != nil {
		return nil
	}
	made, err := stream.Init(ctx, client, cfg)
	switch {
	case err != nil:
		return err
	case made:
		fmt.Fprintf(stdout, "made the topic %s\n", cfg.Retry)
	default:
		fmt.Fprintf(stdout, "the topic %s is there; nothing was changed\n", cfg.Retry)
	}
	return nil
}
