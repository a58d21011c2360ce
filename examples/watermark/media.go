package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// makeClip makes a clip of some seconds with a moving test picture.
func (s *settings) makeClip(ctx context.Context, path, size string, seconds int) error {
	return s.make(ctx, path, "-i", fmt.Sprintf("testsrc2=size=%s:rate=12:duration=%d", size, seconds), "-pix_fmt", "yuv420p")
}

// makePicture makes a picture.
func (s *settings) makePicture(ctx context.Context, path string) error {
	return s.make(ctx, path, "-i", "testsrc2=size=320x180", "-frames:v", "1", "-update", "1")
}

func (s *settings) make(ctx context.Context, path string, args ...string) error {
	args = append([]string{"-nostdin", "-v", "error", "-y", "-f", "lavfi"}, append(args, path)...)
	if out, err := exec.CommandContext(ctx, s.ffmpeg, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("make %s: %w: %s", filepath.Base(path), err, out)
	}
	return nil
}

// seed makes the accounts, and for the first one three files and a campaign of 50 recipients, unless
// they are there. The file of four of the recipients is cut off in the middle.
func (a *app) seed(ctx context.Context) error {
	for _, name := range []string{"Ann", "Ben"} {
		id := strings.ToLower(name)
		if err := a.addAccount(ctx, id, name, id+"@example.com", id); err != nil {
			return err
		}
	}
	ann := &account{"ann", "Ann", "ann@example.com"}
	lines, _, err := a.campaigns(ctx, ann)
	if err != nil || len(lines) > 0 {
		return err
	}
	temp, err := os.MkdirTemp("", "watermark-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	clip, picture, cut := filepath.Join(temp, "premiere.mp4"), filepath.Join(temp, "poster.png"), filepath.Join(temp, "cut-off.mp4")
	if err := a.makeClip(ctx, clip, "320x180", 2); err != nil {
		return err
	}
	if err := a.makePicture(ctx, picture); err != nil {
		return err
	}
	whole, err := os.ReadFile(clip)
	if err != nil {
		return err
	}
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		return err
	}
	ids := make(map[string]string)
	for _, path := range []string{clip, picture, cut} {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		f, err := a.upload(ctx, ann, "", path, file)
		file.Close()
		if err != nil {
			return err
		}
		ids[path] = f.ID
	}
	c, err := a.create(ctx, ann, campaign{Asset: ids[clip], Name: "Summer premiere", MaxDownloads: 3, Visible: true, Invisible: true})
	if err != nil {
		return err
	}
	names := recipients(50)
	if _, err := a.addRecipients(ctx, ann, c.ID, ids[cut], names[46:]); err != nil {
		return err
	}
	_, err = a.addRecipients(ctx, ann, c.ID, "", names[:46])
	return err
}

// recipients returns names of recipients.
func recipients(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("Recipient %02d", i+1))
	}
	return names
}

// repeatClip makes a long clip of a short one.
func (s *settings) repeatClip(ctx context.Context, from, to string, times int) error {
	args := []string{"-nostdin", "-v", "error", "-y", "-stream_loop", strconv.Itoa(times - 1), "-i", from, "-c", "copy", to}
	if out, err := exec.CommandContext(ctx, s.ffmpeg, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("make %s: %w: %s", filepath.Base(to), err, out)
	}
	return nil
}
