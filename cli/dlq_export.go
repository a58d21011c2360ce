package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
)

type dlqExportCmd struct {
	deadFlags
	Format string `enum:"csv,jsonl" default:"jsonl" placeholder:"FORMAT" help:"csv, or jsonl: one JSON object per line. Default jsonl."`
	Output string `short:"o" placeholder:"FILE" help:"Write to this file. It appears when it is complete. Default: standard output."`
	Raw    bool   `help:"Write payloads, attributes and messages as they are stored, with secrets and paths."`
}

// Help implements kong.HelpProvider.
func (*dlqExportCmd) Help() string {
	return `The newest dead letter is written first. The fields are job_id, task_type, payload, metadata, dlq_reason, dlq_timestamp,
status, resolution, resolved_at and resolved_by. Secrets, paths and addresses are removed from payloads, attributes and
messages; --raw keeps them. The payload is null when the job is live again or has completed.

In CSV, payload, metadata and resolution are JSON. A cell that begins with = + - @, a tab or a line end gets an
apostrophe in front, so that no spreadsheet reads it as a formula. Numbers are not changed.

    redrive dlq export > dead.jsonl
    redrive dlq export | jq -s . > dead.json
    redrive dlq export --status pending --since 7d --format csv -o dead.csv
    redrive dlq export --group 3fa9 | jq -r .payload.image`
}

func (c *dlqExportCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	f, err := c.filter(ctx, a, client)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	out, err := a.exportFile(c.Output)
	if err != nil {
		return err
	}
	err = c.write(ctx, a, client, f, out)
	if ctx.Err() != nil {
		err = &interruptedError{"the export is not whole"}
	}
	if err = out.end(err); errors.Is(err, syscall.EPIPE) {
		return nil // no error: the program that reads the output has ended, for example head
	}
	return err
}

// write writes the selected dead letters, page by page.
func (c *dlqExportCmd) write(ctx context.Context, a *app, client *redrive.Client, f redrive.DeadFilter, out io.Writer) error {
	e := wire.NewExporter(out, c.Format == "csv", c.sanitiser(a))
	progress := newBar(a, exportTotal(ctx, a, client, &f))
	defer progress.end()
	if err := e.Begin(); err != nil {
		return err
	}
	err := e.Export(ctx, client, f, func() error {
		progress.set(e.Rows(), e.Rows())
		return nil
	})
	if _, read := errors.AsType[*wire.ReadError](err); err != nil && !read && ctx.Err() == nil {
		return fmt.Errorf("write the export: %w", err)
	} else if err != nil {
		return err
	}
	if e.Rows() == 0 && ctx.Err() == nil {
		return c.explainNothing(ctx, a, client)
	}
	return ctx.Err()
}

// sanitiser returns the options for removing secrets, or nil if nothing is to be removed.
func (c *dlqExportCmd) sanitiser(a *app) *failure.SanitizeOptions {
	if c.Raw {
		return nil
	}
	return &failure.SanitizeOptions{Emails: a.known().HideEmails}
}

// exportTotal returns the number of dead letters that the export will have, for the
// progress bar. It returns 0 if the number is not known.
func exportTotal(ctx context.Context, a *app, client *redrive.Client, f *redrive.DeadFilter) int64 {
	if !a.styleOf(a.stderr).terminal || !f.Counted() {
		return 0
	}
	stats, err := client.DeadStats(ctx)
	if err != nil {
		return 0 // ignore the error, because the progress bar also works without the number
	}
	total := int64(0)
	for i := range stats.Counts {
		n := &stats.Counts[i]
		if entry := entryOf(n); f.Match(&entry, nil) {
			total += n.N
		}
	}
	return total
}

// exportFile is the file of an export. A regular file gets its final name only at the end,
// so that nobody reads half an export.
type exportFile struct {
	*bufio.Writer
	file *os.File // the file of the export; nil if the export goes to standard output
	name string   // the final name; "" if the file is written under its final name
}

func (a *app) exportFile(name string) (*exportFile, error) {
	if name == "" || name == "-" {
		return &exportFile{Writer: a.out}, nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		return &exportFile{Writer: bufio.NewWriterSize(f, 64<<10), file: f}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // only the owner of the file can read it
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return &exportFile{Writer: bufio.NewWriterSize(f, 64<<10), file: f, name: name}, nil
}

// end closes the file. If there was no error, it renames the file to its final name.
func (e *exportFile) end(err error) error {
	if ferr := e.Flush(); err == nil && ferr != nil {
		err = fmt.Errorf("write the export: %w", ferr)
	}
	if e.file == nil {
		return err
	}
	if err == nil && e.name != "" {
		err = e.file.Sync()
	}
	if cerr := e.file.Close(); err == nil {
		err = cerr
	}
	switch {
	case e.name == "":
		return err
	case err == nil:
		err = os.Rename(e.file.Name(), e.name)
	}
	if err != nil {
		_ = os.Remove(e.file.Name()) // an error of Remove is ignored, because err says more about the cause
		return fmt.Errorf("export to %s: %w", e.name, err)
	}
	return nil
}
