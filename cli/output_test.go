package cli

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

func TestTable(t *testing.T) {
	t.Parallel()
	tab := table{columns: []column{{title: "ID", right: true}, {title: "NAME"}, {title: "ERROR", loose: true, own: true}}}
	tab.add("7", "straße", "no such host, or none that answers")
	tab.add("1234", "x", "a\x1b[2Jb")
	var wide, narrow bytes.Buffer
	tab.print(&wide, style{})
	want := "  ID  NAME    ERROR\n" +
		"   7  straße  no such host, or none that answers\n" +
		"1234  x       a\\x1b[2Jb\n"
	if diff := cmp.Diff(want, wide.String()); diff != "" {
		t.Error(diff)
	}
	tab.print(&narrow, style{terminal: true, columns: 33})
	for line := range strings.SplitSeq(strings.TrimSpace(narrow.String()), "\n") {
		if words.Width(line) > 33 {
			t.Errorf("the line %q is wider than the terminal, want at most 33 columns", line)
		}
	}
	if !strings.Contains(narrow.String(), "no such host, or n…") {
		t.Errorf("the error in the table is not shortened, want it cut to the width of the terminal:\n%s", narrow.String())
	}
	// A cell that would lose more than half of its text has a line of its own, and keeps both of its ends.
	narrow.Reset()
	tab.print(&narrow, style{terminal: true, columns: 28})
	want = "  ID  NAME\n" +
		"   7  straße\n" +
		"  no such host… that answers\n" +
		"1234  x\n" +
		"  a\\x1b[2Jb\n"
	if diff := cmp.Diff(want, narrow.String()); diff != "" {
		t.Error(diff)
	}
	// Columns that can be left out are, in their order, when nothing else helps.
	spare := table{columns: []column{{title: "QUEUE"}, {title: "RATE", spare: 2}, {title: "LIMIT", spare: 1}, {title: "WAITING", right: true}}}
	spare.add("default", "10/s", "4", "1,000,000")
	narrow.Reset()
	spare.print(&narrow, style{terminal: true, columns: 24})
	if diff := cmp.Diff("QUEUE    RATE    WAITING\ndefault  10/s  1,000,000\n", narrow.String()); diff != "" {
		t.Error(diff)
	}
}

func TestStyle_ColorIsOnlyForTerminals(t *testing.T) {
	t.Parallel()
	a := &app{getenv: func(string) string { return "" }}
	if s := a.styleOf(&bytes.Buffer{}); s != (style{}) {
		t.Errorf("the style of a buffer is %+v, want the empty style", s)
	}
	if got := (style{}).red("x"); got != "x" {
		t.Errorf("a style without colour wrote %q, want x without colour codes", got)
	}
	if got := (style{color: true}).red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("a style with colour wrote %q, want a red x", got)
	}
}

func TestLive_KeepsItsLineBelowOtherOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &live{w: &out, style: style{terminal: true, columns: 10}}
	l.set("3 running, and more")
	l.set("3 running, and more") // the line shows this text already, so it is not drawn again
	fmt.Fprintln(l, "a log line")
	l.set("")
	fmt.Fprintln(l, "another")
	want := "\r\x1b[K3 running…" + "\r\x1b[Ka log line\n3 running…" + "\r\x1b[K" + "another\n"
	if diff := cmp.Diff(strings.ReplaceAll(want, "3 running…", "3 runnin…"), out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	plain := &live{w: &out}
	plain.set("3 running")
	fmt.Fprintln(plain, "a log line")
	if out.String() != "a log line\n" {
		t.Errorf("without a terminal the output is %q, want the log line only", out.String())
	}
}

func TestBarText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		bytes, total, jobs int64
		elapsed            time.Duration
		want               string
	}{
		{50, 100, 1000, 2 * time.Second, "[############            ]  50%  1,000 jobs  500/s"},
		{100, 100, 1, time.Second, "[########################] 100%  1 job  1/s"},
		{500, 0, 2000, 0, "2,000 jobs"},
		{500, 100, 1, 0, "[########################] 100%  1 job"}, // more bytes were read than the file had when its size was read
	} {
		if got := barText(tt.bytes, tt.total, tt.jobs, tt.elapsed); got != tt.want {
			t.Errorf("the progress bar is %q, want %q", got, tt.want)
		}
	}
}

func TestConsole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(newConsole(&out, style{}, slog.LevelInfo)).With("kind", "mail")
	at := time.Date(2026, 1, 31, 18, 4, 5, 0, time.UTC)
	for _, r := range []slog.Record{
		slog.NewRecord(at, slog.LevelInfo, "job \x1b[2J", 0),
		slog.NewRecord(at, slog.LevelDebug, "not shown", 0),
	} {
		r.Add("took", 31384*time.Microsecond, slog.Group("g", slog.String("msg", "kept")))
		if log.Enabled(t.Context(), r.Level) {
			if err := log.Handler().Handle(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := `18:04:05 job \x1b[2J  kind=mail took=31ms g.msg=kept` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	bare := slog.New(newConsole(&out, style{}, slog.LevelInfo))
	if err := bare.Handler().Handle(t.Context(), slog.NewRecord(at, slog.LevelInfo, "bare", 0)); err != nil {
		t.Fatal(err)
	}
	if out.String() != "18:04:05 bare\n" {
		t.Errorf("a log record without attributes is written as %q, want time and message", out.String())
	}
}

func TestKindsOfErrors(t *testing.T) {
	t.Parallel()
	notFound := fmt.Errorf("job 7: %w", redrive.ErrNotFound)
	conflict := fmt.Errorf("job 8: %w", redrive.ErrConflict)
	for _, tt := range []struct {
		err  error
		want wire.Kind
	}{
		{nil, wire.None},
		{errors.New("broken"), wire.Internal},
		{usagef("wrong"), wire.InvalidField},
		{&usageError{notFound}, wire.InvalidField},
		{&returnedError{&redrive.Returned{Jobs: 2}}, wire.Stopping},
		{notFound, wire.NotFound},
		{absentf("queue x"), wire.NotFound},
		{conflict, wire.StateMoved},
		{&noted{&wire.LineError{Err: conflict}, "no job was enqueued"}, wire.StateMoved},
		{several{notFound, notFound}, wire.NotFound},
		{several{notFound, conflict}, wire.Internal},
		{several{conflict, &redrive.KeyConflict{}}, wire.StateMoved},
	} {
		if got := wire.KindOf(tt.err); got != tt.want {
			t.Errorf("wire.KindOf(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	err := several{errors.New("a\x1b[2J"), errors.New("b")}
	var plain, asJSON bytes.Buffer
	report(&plain, err, false)
	report(&asJSON, err, true)
	report(&plain, failed{}, false)
	if want := "redrive: a\\x1b[2J\nredrive: b\n"; plain.String() != want {
		t.Errorf("the error is printed as %q, want %q", plain.String(), want)
	}
	if want := `{"error":{"code":"internal","exit":1,"message":"a\u001b[2J\nb"}}` + "\n"; asJSON.String() != want {
		t.Errorf("the error is printed as %q, want the JSON %q", asJSON.String(), want)
	}
}

// A command line that begins with a command needs the grammar of this command only. So a short command
// starts in half the time.
func TestOnlyTheCommandIsRead(t *testing.T) {
	t.Parallel()
	var all grammar
	whole, err := newParser(&all)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range whole.Model.Children {
		var g grammar
		parser, err := newParser(&g, only(want.Name))
		if err != nil {
			t.Fatal(err)
		}
		got := parser.Model.Children
		if len(got) != 1 || got[0].Name != want.Name || len(got[0].Children) != len(want.Children) || len(got[0].Flags) != len(want.Flags) {
			t.Errorf("only(%q) leaves %d commands, want this one, with its flags and commands", want.Name, len(got))
		}
	}
	for _, unknown := range []string{"", "--db", "vers", "Jobs"} {
		var g grammar
		parser, err := newParser(&g, only(unknown))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(parser.Model.Children), len(whole.Model.Children); got != want {
			t.Errorf("only(%q), which is no command, leaves %d commands, want all %d", unknown, got, want)
		}
	}
}

// The help of a command has lines of at most 80 columns, also its examples, which are not wrapped.
func TestHelpFits80Columns(t *testing.T) {
	t.Parallel()
	var g grammar
	parser, err := newParser(&g)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Leaves(true) {
		var out bytes.Buffer
		args := append(strings.Fields(command.FullPath())[1:], "--help")
		if code := Main(t.Context(), args, nil, &out, &out, func(string) string { return "" }); code != 0 || out.Len() == 0 {
			t.Errorf("%s ended with code %d and printed %q, want code 0 and the help", strings.Join(args, " "), code, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if width := words.Width(strings.TrimSuffix(line, "\n")); width > 80 {
				t.Errorf("%s: a line has %d columns, want at most 80: %s", strings.Join(args, " "), width, line)
			}
		}
	}
}
