package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// reportOld is the age from which the report of a process does not count any more.
const reportOld = 3 * redrive.StreamReportEvery

// streamView is a stream with everything that is known about it.
type streamView struct {
	redrive.Stream
	partitions []partitionView
	sinks      []redrive.StreamSink
}

// partitionView is a position with the last report about its partition.
type partitionView struct {
	redrive.StreamPosition
	reported *redrive.PartitionReport // nil if no process has reported the partition lately
}

// state returns the state of the partition: "none" if no process reads it.
func (v *partitionView) state() string {
	if v.reported == nil {
		return "none"
	}
	return v.reported.State
}

// lag returns how many records are left; ok is false if it is not known.
func (v *partitionView) lag() (n int64, ok bool) {
	if v.reported == nil || v.reported.State == "broker-away" {
		return 0, false
	}
	return max(0, v.reported.End-v.Next), true
}

// viewStreams reads all streams.
func viewStreams(ctx context.Context, client *redrive.Client, now job.Micros) ([]streamView, error) {
	streams, err := client.Streams(ctx)
	if err != nil {
		return nil, fmt.Errorf("read streams: %w", err)
	}
	positions, err := client.Positions(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read positions: %w", err)
	}
	reports, err := client.StreamReports(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read reports: %w", err)
	}
	sinks, err := client.Sinks(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read sinks: %w", err)
	}
	views := make([]streamView, len(streams))
	for i, s := range streams {
		views[i].Stream = s
		for _, p := range positions {
			if p.Stream == s.Name {
				views[i].partitions = append(views[i].partitions, partitionView{p, reportOf(reports, &p, now)})
			}
		}
		for _, sink := range sinks {
			if sink.Stream == s.Name {
				views[i].sinks = append(views[i].sinks, sink)
			}
		}
	}
	return views, nil
}

// reportOf returns the latest report about a partition.
func reportOf(reports []redrive.StreamReport, p *redrive.StreamPosition, now job.Micros) (found *redrive.PartitionReport) {
	var at job.Micros
	for i := range reports {
		r := &reports[i]
		if r.Stream != p.Stream || r.At < at || now.Sub(r.At) > reportOld {
			continue
		}
		for k := range r.Partitions {
			if r.Partitions[k].Place == p.Place {
				found, at = &r.Partitions[k], r.At
			}
		}
	}
	return found
}

func viewStream(ctx context.Context, client *redrive.Client, name string, now job.Micros) (*streamView, error) {
	views, err := viewStreams(ctx, client, now)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(views, func(v streamView) bool { return v.Name == name })
	if i < 0 {
		return nil, redrive.NoStream(name)
	}
	return &views[i], nil
}

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
	views, err := viewStreams(ctx, client, job.At(a.now()))
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
		var counts redrive.StreamCounts
		for k := range v.partitions {
			c := &v.partitions[k].Counts
			counts.Taken, counts.Existing, counts.Dead = counts.Taken+c.Taken, counts.Existing+c.Existing, counts.Dead+c.Dead
		}
		t.add(v.Name, v.Mode.String(), v.state(), strconv.Itoa(len(v.partitions)), v.lag(), fmt.Sprint(counts.Taken), fmt.Sprint(counts.Existing), fmt.Sprint(counts.Dead))
	}
	t.print(a.out, out)
	return nil
}

// state returns the state that needs a look most.
func (v *streamView) state() string {
	worst := "running"
	for _, state := range []string{"backlogged", "paused", "none", "broker-away", "store-away", "revoked", "beyond", "behind", "ahead"} {
		if slices.ContainsFunc(v.partitions, func(p partitionView) bool { return p.state() == state }) {
			worst = state
		}
	}
	return worst
}

// lag returns how many records are left in all partitions, or a dash if it is not known.
func (v *streamView) lag() string {
	var sum int64
	for i := range v.partitions {
		n, ok := v.partitions[i].lag()
		if !ok {
			return "-"
		}
		sum += n
	}
	return strconv.FormatInt(sum, 10)
}

type streamShowCmd struct {
	Name string `arg:"" help:"Name of the stream."`
}

// Help implements kong.HelpProvider.
func (*streamShowCmd) Help() string {
	return `The state of a partition is "none" if no process has reported it for 15 seconds.

    redrive stream show chat`
}

func (c *streamShowCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	now := job.At(a.now())
	v, err := viewStream(ctx, client, c.Name, now)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s is %s", words.Clean(v.Name), v.Mode)
	if v.By != "" {
		fmt.Fprintf(a.out, ", by %s %s", words.Clean(v.By), words.Away(v.At, now))
	}
	fmt.Fprintln(a.out)
	out := a.styleOf(a.stdout)
	t := table{columns: []column{{title: "TOPIC"}, {title: "PARTITION", right: true}, {title: "STATE"}, {title: "POSITION", right: true}, {title: "LAG", right: true},
		{title: "TAKEN", right: true}, {title: "EXISTING", right: true}, {title: "REVIVED", right: true}, {title: "DEAD", right: true},
		{title: "OWN", right: true}, {title: "FOREIGN", right: true}}}
	for i := range v.partitions {
		p, lag := &v.partitions[i], "-"
		if n, ok := p.lag(); ok {
			lag = strconv.FormatInt(n, 10)
		}
		n := &p.Counts
		t.add(p.Topic, fmt.Sprint(p.Partition), p.state(), fmt.Sprint(p.Next), lag, fmt.Sprint(n.Taken), fmt.Sprint(n.Existing), fmt.Sprint(n.Revived),
			fmt.Sprint(n.Dead), fmt.Sprint(n.Own), fmt.Sprint(n.Foreign))
	}
	t.print(a.out, out)
	for i := range v.partitions {
		if p := &v.partitions[i]; p.reported != nil && p.reported.Reason != "" {
			fmt.Fprintf(a.out, "%s/%d: %s\n", words.Clean(p.Topic), p.Partition, words.Clean(p.reported.Reason))
		}
	}
	for i := range v.sinks {
		s := &v.sinks[i]
		fmt.Fprintf(a.out, "sink %s: at event %s", words.Clean(s.Name), s.Cursor)
		if s.Error != "" {
			fmt.Fprintf(a.out, ", failing since %s: %s", words.Away(s.FailedAt, now), words.Clean(s.Error))
		}
		fmt.Fprintln(a.out)
	}
	return nil
}
