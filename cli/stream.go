package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type streamCmd struct {
	List      streamListCmd   `cmd:"" help:"List streams: how far topics were taken, and how much is left."`
	Show      streamShowCmd   `cmd:"" help:"Show the partitions and the sinks of a stream."`
	Pause     streamPauseCmd  `cmd:"" help:"Take no more records until the stream is resumed. Its jobs run."`
	Resume    streamResumeCmd `cmd:"" help:"End the pause of a stream."`
	Rewind    streamRewindCmd `cmd:"" help:"Read partitions from another offset."`
	AcceptGap streamGapCmd    `cmd:"" help:"Read a partition on although records were removed before they were read."`
	Run       streamRunCmd    `cmd:"" passthrough:"" help:"Read topics, with the program redrive-stream."`
	Check     streamCheckCmd  `cmd:"" passthrough:"" help:"Check what a stream needs of its cluster, with the program redrive-stream."`
	Init      streamInitCmd   `cmd:"" passthrough:"" help:"Make the topics that are missing, with the program redrive-stream."`
	Peek      streamPeekCmd   `cmd:"" passthrough:"" help:"Say what would become of records, with the program redrive-stream."`
	Rebuild   streamMakeCmd   `cmd:"" passthrough:"" help:"Write documents or marks anew, with the program redrive-stream."`
	Handback  streamBackCmd   `cmd:"" passthrough:"" help:"Write tasks that wait to the retry topic, and cancel their jobs, with the program redrive-stream."`
}

// streamProgram is the program with the Kafka client. It is a program of its own, so that redrive
// needs none.
const streamProgram = "redrive-stream"

type (
	streamRunCmd   struct{ handedOver }
	streamCheckCmd struct{ handedOver }
	streamInitCmd  struct{ handedOver }
	streamPeekCmd  struct{ handedOver }
	streamBackCmd  struct{ handedOver }
	streamMakeCmd  struct{ handedOver }
)

type handedOver struct {
	Args []string `arg:"" optional:"" help:"Flags of redrive-stream; see redrive-stream --help."`
}

func (c *streamRunCmd) Run(ctx context.Context, a *app) error { return a.handOver(ctx, "run", c.Args) }
func (c *streamCheckCmd) Run(ctx context.Context, a *app) error {
	return a.handOver(ctx, "check", c.Args)
}
func (c *streamInitCmd) Run(ctx context.Context, a *app) error {
	return a.handOver(ctx, "init", c.Args)
}

func (c *streamPeekCmd) Run(ctx context.Context, a *app) error {
	return a.handOver(ctx, "peek", c.Args)
}
func (c *streamBackCmd) Run(ctx context.Context, a *app) error {
	return a.handOver(ctx, "handback", c.Args)
}

func (c *streamMakeCmd) Run(ctx context.Context, a *app) error {
	return a.handOver(ctx, "rebuild", c.Args)
}

// handOver runs redrive-stream: the one beside this program, or else the one in PATH.
func (a *app) handOver(ctx context.Context, verb string, args []string) error {
	path := ""
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), streamProgram)
		if found, err := exec.LookPath(beside); err == nil {
			path = found
		}
	}
	if path == "" {
		found, err := exec.LookPath(streamProgram)
		if err != nil && slices.Contains(args, "--help") {
			_, err := fmt.Fprintf(a.out, "Usage: redrive stream %s [flags]\n\nRuns the program %s, which is not installed.\n", verb, streamProgram)
			return err
		}
		if err != nil {
			return absentf("the program %s is neither beside this one nor in PATH; "+
				"install it with: go install github.com/redrive/redrive/stream/cmd/redrive-stream@latest", streamProgram)
		}
		path = found
	}
	given := []string{verb}
	if a.ConfigFile != "" {
		given = append(given, "--config", a.ConfigFile)
	}
	if a.DB != "" {
		given = append(given, "--db", a.DB)
	}
	if a.Schema != "" {
		given = append(given, "--schema", a.Schema)
	}
	cmd := exec.CommandContext(ctx, path, append(given, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.stdout, a.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return failed{} // it has said why
	}
	return err
}

type streamPauseCmd struct {
	by
	Name string `arg:"" help:"Name of the stream."`
}

// Help implements kong.HelpProvider.
func (*streamPauseCmd) Help() string {
	return `All processes stop reading the topic within a second. Jobs that are already made of its records still run;
"redrive queues pause" stops those.

    redrive stream pause chat --reason "the model is replaced"`
}

func (c *streamPauseCmd) Run(ctx context.Context, a *app) error {
	return a.setStream(ctx, c.Name, redrive.QueuePaused, c.by)
}

type streamResumeCmd struct {
	by
	Name string `arg:"" help:"Name of the stream."`
}

func (c *streamResumeCmd) Run(ctx context.Context, a *app) error {
	return a.setStream(ctx, c.Name, redrive.QueueOpen, c.by)
}

func (a *app) setStream(ctx context.Context, name string, mode redrive.QueueMode, who by) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	s, err := client.SetStream(ctx, who.actor(a), redrive.StreamChange{Name: name, Mode: mode})
	if err == nil {
		_, err = fmt.Fprintf(a.out, "%s: %s\n", words.Clean(s.Name), s.Mode)
	}
	return err
}

type streamRewindCmd struct {
	by
	Name      string `arg:"" help:"Name of the stream."`
	To        string `required:"" placeholder:"PLACE" help:"Where to read: store (the position of the store, although the group is ahead of it), start or end of the partition, group (the offsets of the consumer group), an offset, or a time such as 2026-01-31T18:00 or 24h, which means 24 hours ago."`
	Topic     string `help:"Only this topic."`
	Partition *int32 `placeholder:"N" help:"Rewind only this partition. Required if --to is an offset."`
	DryRun    bool   `help:"Print what would be read again, and change nothing."`
}

// Help implements kong.HelpProvider.
func (*streamRewindCmd) Help() string {
	return `Records that are read again become jobs only if no job has their key. The ends of a partition are those that the running
process has reported. For group and a time the program redrive-stream asks the brokers.

    redrive stream rewind chat --to start --dry-run
    redrive stream rewind chat --to 24h --dry-run
    redrive stream rewind chat --to 1200 --partition 3 --reason "a bad release"`
}

func (c *streamRewindCmd) Run(ctx context.Context, a *app) (err error) {
	part := &wire.StreamPart{Topic: c.Topic, Partition: c.Partition}
	_, notOffset := strconv.ParseInt(c.To, 10, 64)
	if _, notTime := human.ParseTime(c.To, a.now(), true); notOffset != nil && notTime == nil || c.To == "group" {
		return a.handOver(ctx, "rewind", c.handedOver(a))
	}
	if err := wire.CheckRewind(c.To, part); err != nil {
		return usagef("--to %w, or group, or a time such as 2026-01-31T18:00 or 24h", err)
	}
	return a.movePositions(ctx, c.Name, c.by, c.DryRun, func(s *wire.Stream) ([]wire.StreamMove, error) { return s.Rewind(c.To, part) })
}

// handedOver returns the flags of redrive-stream for the same.
func (c *streamRewindCmd) handedOver(a *app) []string {
	args := []string{"--name", c.Name, "--to", c.To, "--by", c.actor(a).Actor}
	if c.Reason != "" {
		args = append(args, "--reason", c.Reason)
	}
	if c.Topic != "" {
		args = append(args, "--only", c.Topic)
	}
	if c.Partition != nil {
		args = append(args, "--partition", strconv.Itoa(int(*c.Partition)))
	}
	if c.DryRun {
		args = append(args, "--dry-run")
	}
	return args
}

type streamGapCmd struct {
	by
	Name      string `arg:"" help:"Name of the stream."`
	Topic     string `help:"Only this topic."`
	Partition int32  `required:"" placeholder:"N" help:"The partition that is behind."`
	DryRun    bool   `help:"Print how many records are lost, and change nothing."`
}

// Help implements kong.HelpProvider.
func (*streamGapCmd) Help() string {
	return `A partition is behind if the topic's retention has removed records before they were read. It stands still until a person
has accepted that they are lost.

    redrive stream accept-gap chat --partition 3 --reason "too short"`
}

func (c *streamGapCmd) Run(ctx context.Context, a *app) error {
	part := &wire.StreamPart{Topic: c.Topic, Partition: &c.Partition}
	return a.movePositions(ctx, c.Name, c.by, c.DryRun, func(s *wire.Stream) ([]wire.StreamMove, error) { return s.AcceptGap(part) })
}

// movePositions does the moves that the function returns, and prints those that are done.
func (a *app) movePositions(ctx context.Context, name string, who by, dry bool, plan func(*wire.Stream) ([]wire.StreamMove, error)) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	moves, err := wire.MoveStream(ctx, client, name, job.At(a.now()), who.actor(a), dry, plan)
	for i := range moves {
		fmt.Fprintln(a.out, moves[i].Text(!dry))
	}
	return err
}
