package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// editMax is the largest payload in bytes that a page shows as a whole and edits. A larger one is shown
// in part.
const editMax = 64 << 10

// payloadView is the payload of a job on its page, and what a person has typed in its place.
type payloadView struct {
	Hidden  bool   // the caller may not see payloads
	Kept    bool   // the store has the payload
	Text    string // for reading
	Cut     bool   // Text is only the beginning
	Size    string
	Edit    string // for a text field: what was typed, otherwise the payload
	NoEdit  string // why it cannot be edited here
	Changed []diffLine
	// These say how what was typed fits.
	Typed    bool
	Mistakes []string
	Differs  []diffLine // from the present payload; nil if nothing differs
	Schema   bool       // the kind has a schema
}

// diffLine is a line of a difference: "-", "+", or " " for a common line. "…" stands for common lines
// that are left out.
type diffLine struct{ Mark, Text string }

// diffContext is the number of common lines that are shown around a change.
const diffContext = 3

// diffOf returns the difference of two payloads, with the common lines around the changes only.
func diffOf(was, is []byte) (lines []diffLine) {
	all := strings.Split(words.Diff(was, is), "\n")
	near := make([]bool, len(all))
	changed := false
	for i, line := range all {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		changed = true
		for k := max(0, i-diffContext); k <= min(len(all)-1, i+diffContext); k++ {
			near[k] = true
		}
	}
	if !changed {
		return nil
	}
	left := int64(0)
	skip := func() {
		if left > 0 {
			lines = append(lines, diffLine{"…", words.Count(left, "line") + " without a change"})
			left = 0
		}
	}
	for i, line := range all {
		if !near[i] {
			left++
			continue
		}
		skip()
		mark, text := " ", line
		if len(line) >= 2 && line[1] == ' ' {
			mark, text = line[:1], line[2:]
		}
		lines = append(lines, diffLine{mark, words.CleanBlock(text)})
	}
	skip()
	return lines
}

// payloadOf returns the payload of a job for its page.
func payloadOf(j *job.Job, original *redrive.Original, hidden bool) payloadView {
	v := payloadView{Hidden: hidden, Kept: j.Payload != nil, Size: words.Size(int64(len(j.Payload)))}
	if hidden || !v.Kept {
		return v
	}
	shown := j.Payload
	if v.Cut = len(shown) > editMax; v.Cut {
		shown = shown[:editMax]
	}
	v.Text = pretty(shown)
	switch {
	case v.Cut:
		v.NoEdit = fmt.Sprintf("It has %s; this page edits up to %s.", v.Size, words.Size(editMax))
	case !editable(j.Payload):
		v.NoEdit = "It has bytes that a text field cannot hold."
	default:
		v.Edit = string(words.Lay(j.Payload))
	}
	if original != nil && original.Payload != nil {
		v.Changed = diffOf(original.Payload, j.Payload)
	}
	return v
}

// editable reports whether a text field of a page can hold a payload.
func editable(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' })
}

// typedPayload returns the payload that was typed. It is nil if nothing was typed, or if it differs from
// the present payload in white space of JSON only. A browser sends each line end as CR LF.
func typedPayload(in url.Values, now []byte) []byte {
	if !in.Has("payload") {
		return nil
	}
	text := []byte(strings.ReplaceAll(in.Get("payload"), "\r\n", "\n"))
	if bytes.Equal(text, bytes.ReplaceAll(now, []byte("\r\n"), []byte("\n"))) {
		return nil
	}
	if !json.Valid(now) {
		return text
	}
	var was, is bytes.Buffer
	if json.Compact(&is, text) != nil {
		return text
	}
	if json.Compact(&was, now) == nil && bytes.Equal(was.Bytes(), is.Bytes()) {
		return nil
	}
	if !bytes.Contains(now, []byte("\n")) {
		return is.Bytes() // the payload was written in one line
	}
	return text
}

// mistakesOf says what is wrong with a new payload of a job.
func mistakesOf(a *api.API, j *job.Job, payload []byte) (mistakes []string) {
	if json.Valid(j.Payload) {
		var v any
		err := json.Unmarshal(payload, &v)
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			before := payload[:max(0, min(int(syntax.Offset)-1, len(payload)))]
			line := 1 + bytes.Count(before, []byte("\n"))
			return []string{fmt.Sprintf("It is not JSON: line %d, column %d: %s. The present payload is JSON.", line, len(before)-bytes.LastIndexByte(before, '\n'), words.Clean(syntax.Error()))}
		}
		if err := strictjson.Check(payload, api.DepthMax); err != nil {
			return []string{words.Clean(err.Error()) + "."}
		}
	}
	err := a.Client().CheckPayload(j.Kind, payload)
	if bad, ok := errors.AsType[*redrive.PayloadError](err); ok {
		for _, m := range bad.Mistakes {
			text := m.Detail
			if m.Pointer != "" {
				text += " (" + m.Pointer + ")"
			}
			mistakes = append(mistakes, words.Clean(text)+".")
		}
		return mistakes
	}
	if err != nil {
		return []string{detailOf(err)}
	}
	return nil
}

// check adds what was typed, and how it fits.
func (v *payloadView) check(a *api.API, j *job.Job, in url.Values) {
	if !in.Has("payload") {
		return
	}
	v.Typed, v.Edit = true, strings.ReplaceAll(in.Get("payload"), "\r\n", "\n")
	if payload := typedPayload(in, j.Payload); payload != nil {
		v.Mistakes = mistakesOf(a, j, payload)
		v.Differs = diffOf(j.Payload, payload)
	}
}
