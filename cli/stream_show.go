package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type streamListCmd struct{}

// Help implements kong.HelpProvider.
func (*streamListCmd) Help() string {
	return `A stream is listed from its first start. LAG are records that are not taken yet, as the running processes have reported.

    redrive stream list`
}

func (c *streamListCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	views, err := wire.StreamsOf(ctx, client, job.At(a.now()))
	if err != nil {
		return err
	}
	out := a.styleOf(a.stdout)
	if len(views) == 0 {
		_, err := fmt.Fprintln(a.out, out.faint("no streams"))
		return err
	}
	t := table{columns: []column{{title: "STREAM"}, {title: "MODE"}, {title: "STATE"}, {title: "PARTITIONS", right: true}, {title: "LAG", right: true},
		{title: "TAKEN", right: true}, {title: "EXISTING", right: true}, {title: "DEAD", right: true}}}
	for i := range views {
		v := &views[i]
		t.add(v.Name, v.Mode.String(), v.State, strconv.Itoa(len(v.Partitions)), known(v.Lag), fmt.Sprint(v.Counts.Taken), fmt.Sprint(v.Counts.Existing), fmt.Sprint(v.Counts.Dead))
	}
	t.print(a.out, out)
	return nil
}

// known returns a number, or a dash if it is not known.
func known(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

// aged returns the age of a record in words, or a dash if none waits.
func aged(seconds int64) string {
	if seconds == 0 {
		return "-"
	}
	return human.Duration(time.Duration(seconds) * time.Second)
}

type streamShowCmd struct {
	Name string `arg:"" help:"Name of the stream."`
}

// Help implements kong.HelpProvider.
func (*streamShowCmd) Help() string {
	return `AGE is that of the oldest record that is not taken, looked up once a minute. The state of a partition is "none" if no process has reported it for 15 seconds.

    redrive stream show chat`
}

func (c *streamShowCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	now := job.At(a.now())
	v, err := wire.StreamOf(ctx, client, c.Name, now)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s is %s", words.Clean(v.Name), v.Mode)
	if v.By != "" {
		fmt.Fprintf(a.out, ", by %s %s", words.Clean(v.By), words.Away(v.At, now))
	}
	fmt.Fprintln(a.out)
	out := a.styleOf(a.stdout)
	t := table{columns: []column{{title: "TOPIC"}, {title: "PARTITION", right: true}, {title: "STATE"}, {title: "POSITION", right: true}, {title: "LAG", right: true}, {title: "AGE", right: true},
		{title: "TAKEN", right: true}, {title: "EXISTING", right: true}, {title: "REVIVED", right: true}, {title: "DEAD", right: true},
		{title: "OWN", right: true}, {title: "FOREIGN", right: true}}}
	for i := range v.Partitions {
		p := &v.Partitions[i]
		n := &p.Counts
		t.add(p.Topic, fmt.Sprint(p.Partition), p.State, fmt.Sprint(p.Next), known(p.Lag), aged(p.LagSeconds), fmt.Sprint(n.Taken), fmt.Sprint(n.Existing), fmt.Sprint(n.Revived),
			fmt.Sprint(n.Dead), fmt.Sprint(n.Own), fmt.Sprint(n.Foreign))
	}
	t.print(a.out, out)
	for i := range v.Partitions {
		if p := &v.Partitions[i]; p.Reason != "" {
			fmt.Fprintf(a.out, "%s/%d: %s\n", words.Clean(p.Topic), p.Partition, words.Clean(p.Reason))
		}
	}
	for i := range v.Sinks {
		s := &v.Sinks[i]
		fmt.Fprintf(a.out, "sink %s: at event %s", words.Clean(s.Name), s.Cursor)
		if s.Error != "" {
			fmt.Fprintf(a.out, ", failing since %s: %s", words.Away(s.FailedAt, now), words.Clean(s.Error))
		}
		fmt.Fprintln(a.out)
	}
	return nil
}
