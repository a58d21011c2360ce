package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/stream"
	"github.com/redrive/redrive/stream/kafka"
)

// by has the flags for the name of the person who acts.
type by struct {
	By     string `name:"by" placeholder:"NAME" help:"Your name, for the audit log. Default: $$USER, or the user of this process."`
	Reason string `placeholder:"TEXT" help:"Your reason, for the audit log."`
}

func (b by) actor() redrive.By {
	name := cmp.Or(strings.TrimSpace(b.By), os.Getenv("USER"))
	if u, err := user.Current(); name == "" && err == nil { // cron, systemd and containers set no $USER
		name = u.Username
	}
	return redrive.By{Actor: cmp.Or(name, "cli"), Reason: b.Reason}
}

// onStore calls a function with a client on the database of the settings.
func (c *flags) onStore(ctx context.Context, do func(*redrive.Client, *stream.Config) error) error {
	log := slog.New(slog.DiscardHandler)
	settings, cfg, err := c.prepared(log)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, settings, log)
	if err != nil {
		return err
	}
	cfg.Store = s
	client, err := redrive.New(s, &redrive.Config{Logger: log})
	if err == nil {
		err = do(client, cfg)
	}
	return errors.Join(err, s.Close())
}

type rewindCmd struct {
	flags
	by
	To        string `required:"" placeholder:"group|TIME" help:"Where to read: group (the offsets of the consumer group), or a time such as 2026-01-31T18:00 or 24h, which means 24 hours ago. The other places are those of redrive stream rewind."`
	Only      string `placeholder:"TOPIC" help:"Only this topic."`
	Partition *int32 `placeholder:"N" help:"Only this partition."`
	DryRun    bool   `help:"Print what would be read again, and change nothing."`
}

func (c *rewindCmd) run(ctx context.Context, stdout io.Writer) error {
	at := kafka.At{Group: c.To == "group"}
	now := time.Now()
	if !at.Group {
		var err error
		if at.Time, err = human.ParseTime(c.To, now, true); err != nil {
			return usageError{fmt.Errorf("--to %w, or group", err)}
		}
	}
	return c.onStore(ctx, func(client *redrive.Client, cfg *stream.Config) error {
		offsets, err := stream.Offsets(ctx, client, cfg, at)
		if err != nil {
			return err
		}
		part := &wire.StreamPart{Topic: c.Only, Partition: c.Partition}
		moves, err := wire.MoveStream(ctx, client, cfg.Name, job.At(now), c.actor(), c.DryRun,
			func(s *wire.Stream) ([]wire.StreamMove, error) { return s.RewindTo(offsets, part) })
		for i := range moves {
			fmt.Fprintln(stdout, moves[i].Text(!c.DryRun))
		}
		return err
	})
}

type peekCmd struct {
	flags
	At    string `arg:"" optional:"" placeholder:"TOPIC[/PARTITION[/OFFSET]]" help:"Which records. Default: the topic of the stream, from its start."`
	N     int    `short:"n" default:"10" help:"How many records, at most 10000. Default: ${default}."`
	Known bool   `help:"Also look up in the database whether a job has the key."`
}

// peekMax is the largest number of records, which are all kept in memory.
const peekMax = 10_000

func (c *peekCmd) run(ctx context.Context, stdout io.Writer) error {
	if c.N < 1 || c.N > peekMax {
		return usageError{fmt.Errorf("-n %d: it must be 1 to %d", c.N, peekMax)}
	}
	show := func(client *redrive.Client, cfg *stream.Config) error {
		at, err := peekAt(cmp.Or(c.At, cfg.Topic), c.N)
		if err != nil {
			return usageError{err}
		}
		all, err := stream.Peek(ctx, client, cfg, at, c.Known)
		for i := range all {
			p := &all[i]
			fmt.Fprintf(stdout, "%s/%d/%d  %s  %-12s  %s\n", at.Topic, p.Partition, p.Offset, p.Time.UTC().Format(time.RFC3339),
				words.Clean(cmp.Or(p.ID, "-")), words.Clean(p.Text))
		}
		if err == nil {
			fmt.Fprintf(stdout, "%s; none was taken\n", words.Count(int64(len(all)), "record"))
		}
		return err
	}
	if c.Known {
		return c.onStore(ctx, show)
	}
	client, cfg, err := c.client()
	if err != nil {
		return err
	}
	return show(client, cfg)
}

// peekAt reads TOPIC[/PARTITION[/OFFSET]].
func peekAt(text string, n int) (kafka.PeekAt, error) {
	at := kafka.PeekAt{Partition: -1, Offset: -1, N: n}
	parts := strings.Split(text, "/")
	at.Topic = parts[0]
	var err error
	if len(parts) > 1 {
		var p int64
		p, err = strconv.ParseInt(parts[1], 10, 32)
		at.Partition = int32(p)
	}
	if len(parts) > 2 && err == nil {
		at.Offset, err = strconv.ParseInt(parts[2], 10, 64)
	}
	if err != nil || at.Topic == "" || len(parts) > 3 || len(parts) > 1 && at.Partition < 0 || len(parts) > 2 && at.Offset < 0 {
		return at, fmt.Errorf("%.300q must be TOPIC, TOPIC/PARTITION or TOPIC/PARTITION/OFFSET, with numbers from 0", text)
	}
	return at, nil
}

type handbackCmd struct {
	flags
	by
}

func (c *handbackCmd) run(ctx context.Context, stdout io.Writer) error {
	return c.onStore(ctx, func(client *redrive.Client, cfg *stream.Config) error {
		n, err := stream.HandBack(ctx, client, cfg, c.actor())
		if n > 0 || err == nil {
			fmt.Fprintf(stdout, "%s written to %s, and the jobs cancelled\n", words.Count(int64(n), "task"), cfg.Retry)
		}
		return err
	})
}
