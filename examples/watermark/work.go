package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/store"
)

// drawtext puts the recipient's name on each picture. The name is in a file, so that no character
// of it means something to FFmpeg.
const drawtext = "drawtext=textfile=recipient.txt:expansion=none:font=Sans:fontsize=h/12:" +
	"fontcolor=white@0.85:box=1:boxcolor=black@0.4:boxborderw=4:x=(w-tw)/2:y=h-2*th"

// mark begins the invisible mark that stamp.sh writes.
const mark = "redrive-watermark:"

// handle registers the handlers.
func (a *app) handle() {
	redrive.Handle(a.client, copyKind, a.makeCopy, nil)
	redrive.Handle(a.client, detectKind, a.findMark, nil)
}

// makeCopy makes the copy for one recipient. The job is completed in the transaction that stores where
// the copy is.
func (a *app) makeCopy(ctx context.Context, j *redrive.Job[copyArgs]) error {
	out := filepath.Join(a.dir, "copies", j.Args.Token+filepath.Ext(j.Args.Input))
	// The parts of an earlier run may have stayed, if its worker was killed.
	old, err := filepath.Glob(filepath.Join(a.dir, "copies", j.Args.Token+".part-*"))
	if err != nil {
		return err
	}
	for _, file := range old {
		os.Remove(file)
	}
	part := filepath.Join(a.dir, "copies", fmt.Sprintf("%s.part-%d%s", j.Args.Token, j.Run, filepath.Ext(j.Args.Input)))
	defer os.Remove(part)
	if err := a.encode(ctx, j, part); err != nil {
		return err
	}
	if j.Args.Invisible {
		stamped := strings.TrimSuffix(part, filepath.Ext(part)) + "-stamped" + filepath.Ext(part)
		defer os.Remove(stamped)
		if err := j.Command(ctx, a.stamp, part, stamped, j.Args.Token).Run(); err != nil {
			return fmt.Errorf("write the invisible mark: %w", err)
		}
		part = stamped
	}
	if info, err := os.Stat(part); err != nil || info.Size() == 0 {
		return errors.New("FFmpeg ended well, but wrote no copy")
	}
	if err := os.Rename(part, out); err != nil {
		return err
	}
	return a.tx(ctx, func(ctx context.Context, tx *sql.Tx, own store.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE tokens SET output = ?, ready_at = ? WHERE id = ?`, out, a.now(), j.Args.Token)
		if err != nil {
			return err
		}
		return j.CompleteTx(ctx, own)
	})
}

// encode runs FFmpeg.
func (a *app) encode(ctx context.Context, j *redrive.Job[copyArgs], out string) error {
	temp, err := j.TempDir()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(temp, "recipient.txt"), []byte(j.Args.Recipient), 0o600); err != nil {
		return err
	}
	args := []string{"-nostdin", "-hide_banner", "-v", "error", "-y", "-progress", "pipe:1", "-i", j.Args.Input}
	switch {
	case j.Args.Visible:
		args = append(args, "-vf", drawtext, "-c:a", "copy")
	case j.Args.Clip:
		args = append(args, "-c", "copy")
	}
	if !j.Args.Clip {
		args = append(args, "-frames:v", "1", "-update", "1")
	}
	cmd := j.Command(ctx, a.ffmpeg, append(args, out)...)
	cmd.Dir = temp
	if j.Args.Clip {
		cmd.Stdout = &progress{info: &j.Info, total: a.length(ctx, j)}
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("ffmpeg: %w", err)
	}
	return nil
}

// length returns the length of a clip in microseconds, or 0 if it cannot be read: then FFmpeg says why.
func (a *app) length(ctx context.Context, j *redrive.Job[copyArgs]) int64 {
	out, err := exec.CommandContext(ctx, a.ffprobe, "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", j.Args.Input).Output()
	if err != nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0
	}
	return int64(seconds * 1e6)
}

// progress reads what FFmpeg writes with -progress, and reports it.
type progress struct {
	info  *redrive.Info
	total int64
	rest  []byte
}

func (p *progress) Write(data []byte) (int, error) {
	p.rest = append(p.rest, data...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		p.rest = rest
		if text, ok := bytes.CutPrefix(line, []byte("out_time_us=")); ok && p.total > 0 {
			if at, err := strconv.ParseInt(string(text), 10, 64); err == nil && at > 0 {
				p.info.Progress(min(at, p.total), p.total, "")
			}
		}
	}
}

// findMark finds out whose copy a file is.
func (a *app) findMark(ctx context.Context, j *redrive.Job[detectArgs]) error {
	// A file that is no picture and no clip cannot be a copy.
	if err := j.Command(ctx, a.ffprobe, "-v", "error", "-show_entries", "stream=codec_type", j.Args.Input).Run(); err != nil {
		return fmt.Errorf("ffprobe: %w", err)
	}
	token, err := readMark(j.Args.Input)
	if err != nil {
		return err
	}
	return a.tx(ctx, func(ctx context.Context, tx *sql.Tx, own store.Tx) error {
		result := "no mark was found"
		if token != "" {
			err := tx.QueryRowContext(ctx, `SELECT t.recipient FROM tokens t JOIN detections d ON d.campaign = t.campaign WHERE d.id = ? AND t.id = ?`,
				j.Args.Detection, token).Scan(&result)
			switch {
			case errors.Is(err, sql.ErrNoRows):
				result = "a copy of another campaign"
			case err != nil:
				return err
			default:
				result = "the copy for " + result
			}
		}
		if _, err := tx.ExecContext(ctx, `UPDATE detections SET result = ? WHERE id = ?`, result, j.Args.Detection); err != nil {
			return err
		}
		return j.CompleteTx(ctx, own)
	})
}

// readMark returns the token in the invisible mark at the end of a file, or "".
func readMark(path string) (string, error) {
	const tail = 256
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-tail), tail))
	if err != nil {
		return "", err
	}
	_, token, _ := strings.Cut(string(text), "\n"+mark)
	return strings.TrimSuffix(token, "\n"), nil
}
