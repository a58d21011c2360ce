package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
)

// worker holds the services and settings that the handlers use. Each handler downloads a file,
// processes it and uploads the result. It returns the first error, unchanged or with a code; the
// policy decides whether to retry.
type worker struct {
	services *services
	tool     []string      // the command line that runs the function Tool
	patience time.Duration // timeout of one call in jobs of the kind chat
}

type handler = func(context.Context, *redrive.Job[task]) error

func (w *worker) handler(kind string) handler {
	switch kind {
	case kindTranscribe:
		return w.transcribe
	case kindRender:
		return w.render
	case kindOCR:
		return w.ocr
	case kindWatermark:
		return w.watermark
	default:
		return w.chat
	}
}

// finding is the response of a model.
type finding struct {
	Segments []string `json:"segments"`
	Cost     float64  `json:"cost"`
}

// ask calls a model and records the cost of the call.
func (w *worker) ask(ctx context.Context, job *redrive.Job[task], q request) (finding, error) {
	q.method = http.MethodPost
	body, err := w.services.do(ctx, q)
	if err != nil {
		return finding{}, err
	}
	var found finding
	if err := json.Unmarshal(body, &found); err != nil {
		return finding{}, fmt.Errorf("decode the response of the model: %w", err)
	}
	job.AddCost(found.Cost)
	return found, nil
}

// transcribe downloads a video, asks a model for the transcript and stores it.
func (w *worker) transcribe(ctx context.Context, job *redrive.Job[task]) error {
	folder, err := job.TempDir()
	if err != nil {
		return err
	}
	video, err := w.services.fetch(ctx, "videos/"+job.Args.Key, folder, "video.clip")
	if err != nil {
		return err
	}
	job.Progress(1, 3, "downloaded")
	data, err := os.ReadFile(video)
	if err != nil {
		return err
	}
	found, err := w.ask(ctx, job, request{path: "models/" + job.Args.Key, body: data})
	if err != nil {
		return err
	}
	job.Progress(2, 3, "transcribed")
	text := found.Segments[0] // a deliberate bug: this panics for a video without speech, which has no segments
	transcript := filepath.Join(folder, "transcript.txt")
	if err := os.WriteFile(transcript, []byte(text), 0o600); err != nil {
		return err
	}
	return w.services.store(ctx, "transcripts/"+job.Args.Key, "", transcript)
}

// render joins three clips and stores the result in a bucket.
func (w *worker) render(ctx context.Context, job *redrive.Job[task]) error {
	folder, err := job.TempDir()
	if err != nil {
		return err
	}
	var clips []string
	for n := range 3 {
		path := fmt.Sprintf("images/%s/%d", job.Args.Key, n+1)
		clip, err := w.services.fetch(ctx, path, folder, fmt.Sprintf("%d.clip", n+1))
		if err != nil {
			return failure.Code("IMAGE_DOWNLOAD_FAILED", err, "image", n+1)
		}
		clips = append(clips, clip)
	}
	out := filepath.Join(folder, "out.clip")
	if err := w.encode(ctx, job, out, clips...); err != nil {
		return failure.Code("FFMPEG_ERROR", err)
	}
	if err := w.services.store(ctx, "videos/"+job.Args.Key, job.Args.Bucket, out); err != nil {
		return failure.Code("STORAGE_UPLOAD_FAILED", err, "bucket", job.Args.Bucket)
	}
	return nil
}

// ocr downloads a document and sends it to a text recognition service that needs a key.
func (w *worker) ocr(ctx context.Context, job *redrive.Job[task]) error {
	folder, err := job.TempDir()
	if err != nil {
		return err
	}
	document, err := w.services.fetch(ctx, "documents/"+job.Args.Key, folder, "document")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	found, err := w.ask(ctx, job, request{path: "vision/" + job.Args.Key, tenant: job.Args.Tenant, body: data})
	if err != nil {
		return err
	}
	if err := os.WriteFile(document, fmt.Append(nil, found.Segments), 0o600); err != nil {
		return err
	}
	return w.services.store(ctx, "texts/"+job.Args.Key, "", document)
}

// watermark makes a copy of a video for one recipient.
func (w *worker) watermark(ctx context.Context, job *redrive.Job[task]) error {
	folder, err := job.TempDir()
	if err != nil {
		return err
	}
	source, err := w.services.fetch(ctx, "sources/"+job.Args.Key, folder, "source.clip")
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.Response.StatusCode == http.StatusNotFound {
		return failure.Code("INPUT_MISSING", err)
	}
	if err != nil {
		return err
	}
	out := filepath.Join(folder, "copy.clip")
	if err := w.encode(ctx, job, out, source); err != nil {
		return err
	}
	return w.services.store(ctx, "copies/"+job.Args.Key, "", out)
}

// encode runs the tool as a subprocess. The subprocess is killed when the run ends.
func (w *worker) encode(ctx context.Context, job *redrive.Job[task], out string, in ...string) error {
	arg := slices.Concat(w.tool[1:], []string{"encode", out}, in)
	cmd := job.Command(ctx, w.tool[0], arg...)
	var said bytes.Buffer
	cmd.Stderr = io.MultiWriter(cmd.Stderr, &said) // the engine keeps the end of the error output as evidence; its last line becomes the message
	err := cmd.Run()
	if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return err
}

// chat is one task of an assistant: it calls a tool and a model, and stores the answer.
// Each call has a shorter timeout than the run.
func (w *worker) chat(ctx context.Context, job *redrive.Job[task]) error {
	_, err := w.services.do(ctx, request{method: http.MethodGet, path: "tools/" + job.Args.Key, limit: w.patience})
	if err == nil {
		_, err = w.ask(ctx, job, request{path: "models/" + job.Args.Key, limit: w.patience})
	}
	if err == nil {
		_, err = w.services.do(ctx, request{method: http.MethodPut, path: "answers/" + job.Args.Key, limit: w.patience})
	}
	return named(err)
}

// named wraps network errors in errors with the names that the policy of the kind chat
// knows from the original system.
func named(err error) error {
	switch _, refused := errors.AsType[*StatusError](err); {
	case err == nil || refused:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("TimeoutError: %w", err)
	default:
		return fmt.Errorf("ConnectionError: %w", err)
	}
}
