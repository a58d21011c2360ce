package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// document is the kind of the jobs: OCR of a scanned page, and a language model that reads its
// text.
const document = redrive.Kind[file]("document")

// file holds the arguments of a job.
type file struct {
	Name    string `json:"name"`    // the name of the picture in the inbox, without ".png"
	Account string `json:"account"` // the account whose key is used for the language model
}

// These methods return the keys of a document's objects in the storage.
func (f file) inbox() string     { return "inbox/" + f.Name + ".png" }
func (f file) manifest() string  { return "documents/" + f.Name + "/manifest.json" }
func (f file) page() string      { return "documents/" + f.Name + "/page-1.json" }
func (f file) processed() string { return "documents/" + f.Name + "/page-1.processed.png" }

// manifest names the picture from which a stored page was read.
type manifest struct {
	SHA256 string `json:"sha256"`
	Page   string `json:"page"`
}

// result is the result of a job, as it is stored.
type result struct {
	findings
	Source   string   `json:"source"` // where the text comes from: "ocr", or "storage" when an earlier run has read the page
	Warnings []string `json:"warnings,omitempty"`
}

// process is the handler. It makes eight calls. If a call fails after its last retry, this happens:
//
//	file download           the job is handed over, or fails
//	manifest download       the page is read by OCR again
//	page download           the page is read by OCR again
//	OCR                     the job is handed over, or fails
//	page upload             the job is handed over, or fails
//	manifest upload         the job is handed over, or fails
//	language model          the job is handed over, or fails
//	processed-image upload  a warning, and the job goes on
//
// A job that is handed over starts again later and finds the page that it has stored.
func (c *calls) process(ctx context.Context, j *redrive.Job[file]) error {
	ctx = retry.WithAttrs(ctx, "shell_file_id", j.Args.Name)
	picture, err := retry.Do(ctx, c.fileDownload, c.load(j.Args.inbox()))
	if err != nil {
		return err
	}
	done := result{Source: "storage"}
	text, err := c.known(ctx, j.Args, picture, &done)
	if err != nil {
		return err
	}
	if text == nil {
		done.Source = "ocr"
		if text, err = c.fresh(ctx, j, picture); err != nil {
			return err
		}
	}
	found, err := retry.Do(retry.WithKey(ctx, j.StepKey("language model")), c.languageModel, func(ctx context.Context) (*findings, error) {
		return c.model.understand(ctx, c.keys[j.Args.Account], text.Text)
	})
	if err != nil {
		return err
	}
	done.findings = *found
	processed, err := mark(picture, text)
	if err != nil {
		return err
	}
	_, err = retry.DoOr(ctx, c.imageUpload, c.save(j.Args.processed(), "image/png", processed), func(context.Context, error) (struct{}, error) {
		done.Warnings = append(done.Warnings, "the processed image could not be stored")
		return struct{}{}, nil
	})
	if err != nil { // ctx has ended, so the run has to stop
		return err
	}
	return j.SetResult(done)
}

// known returns the text of a picture if an earlier run has read and stored it, or nil. A failed
// download does not fail the job, because OCR can read the picture again.
func (c *calls) known(ctx context.Context, f file, picture []byte, done *result) (*page, error) {
	listed, err := retry.DoOr(ctx, c.manifestDownload, loadJSON[manifest](c, f.manifest()), func(context.Context, error) (*manifest, error) {
		done.Warnings = append(done.Warnings, "the manifest could not be loaded")
		return nil, nil
	})
	if err != nil || listed == nil || listed.SHA256 != digest(picture) {
		return nil, err
	}
	return retry.DoOr(ctx, c.pageDownload, loadJSON[page](c, listed.Page), func(context.Context, error) (*page, error) {
		done.Warnings = append(done.Warnings, "the page could not be loaded")
		return nil, nil
	})
}

// fresh reads a picture by OCR and stores the text. It writes the manifest last, so that each page
// which a manifest names exists.
func (c *calls) fresh(ctx context.Context, j *redrive.Job[file], picture []byte) (*page, error) {
	text, err := retry.Do(retry.WithKey(ctx, j.StepKey("ocr")), c.ocr, func(ctx context.Context) (*page, error) {
		return c.vision.read(ctx, picture)
	})
	if err != nil {
		return nil, err
	}
	if err := saveJSON(ctx, c, c.pageUpload, j.Args.page(), text); err != nil {
		return nil, err
	}
	listed := manifest{SHA256: digest(picture), Page: j.Args.page()}
	return text, saveJSON(ctx, c, c.manifestUpload, j.Args.manifest(), listed)
}

func digest(picture []byte) string {
	sum := sha256.Sum256(picture)
	return hex.EncodeToString(sum[:])
}

// mark draws a line under every word that was read.
func mark(picture []byte, p *page) ([]byte, error) {
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, failure.WithClass(failure.InvalidInput, fmt.Errorf("picture: %w", err))
	}
	drawn := image.NewRGBA(decoded.Bounds())
	draw.Draw(drawn, drawn.Bounds(), decoded, decoded.Bounds().Min, draw.Src)
	red := image.NewUniform(color.RGBA{R: 0xC0, A: 0xFF})
	for _, w := range p.Words {
		draw.Draw(drawn, image.Rect(w.Left, w.Bottom+2, w.Right, w.Bottom+4), red, image.Point{}, draw.Src)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, drawn); err != nil {
		return nil, fmt.Errorf("picture: %w", err)
	}
	return b.Bytes(), nil
}
