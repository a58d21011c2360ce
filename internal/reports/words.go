package reports

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
)

// words are the words with which a line can begin.
var words = [...]struct {
	name string
	obey func(r *Reader, value string) error
}{
	{"progress", (*Reader).setProgress},
	{"cost", (*Reader).addCost},
	{"code", func(r *Reader, v string) error { return short("code", v, &r.Said.Code) }},
	{"detail", (*Reader).detail},
	{"class", func(r *Reader, v string) error { return short("class", v, (*string)(&r.Said.Class)) }},
	{"message", (*Reader).setMessage},
	{"permanent", (*Reader).setPermanent},
	{"retry-after", func(r *Reader, v string) error { return wait("retry-after", v, &r.Said.RetryAfter) }},
	{"dependency", func(r *Reader, v string) error { return short("dependency", v, &r.Said.Dependency) }},
	{"result", (*Reader).setResult},
	{"feedback", (*Reader).feedback},
	{"snooze", (*Reader).snooze},
	{"cancel", (*Reader).cancel},
}

func unknown(name string) error {
	names := make([]string, len(words))
	for i := range words {
		names[i] = words[i].name
	}
	word := strings.TrimRight(name[:min(len(name), shownMax)], ":=")
	cure := suggest.DidYouMean(word, names)
	if cure == "" {
		cure = "; the words are " + strings.Join(names, ", ")
	}
	return fmt.Errorf("it begins with the unknown word %q%s", clip(name), cure)
}

// short keeps a text of at most failure.CodeMax bytes without blanks. "" removes it.
func short(name, v string, into *string) error {
	switch {
	case len(v) > failure.CodeMax:
		return fmt.Errorf("%s: it has %d bytes; at most %d are allowed", name, len(v), failure.CodeMax)
	case strings.ContainsAny(v, " \t"):
		return fmt.Errorf("%s %q: it must be one word", name, v)
	}
	*into = v
	return nil
}

// wait reads a time: a number of seconds, or a duration such as 1m30s.
func wait(name, v string, into *time.Duration) error {
	d, err := human.ParseDuration(v)
	if seconds, ok := number(v); ok {
		d, err = time.Duration(min(seconds*1e9, math.MaxInt64/2)), nil
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("%s %q: it must be a number of seconds above 0, or a duration such as 90s or 1h30m", name, clip(v))
	}
	*into = d
	return nil
}

// number reads a number that is not negative, in digits and at most one point.
func number(v string) (float64, bool) {
	if v == "" || strings.Trim(v, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(v, 64)
	return n, err == nil
}

// setProgress reads "3", "3/10" or "30%", and a note.
func (r *Reader) setProgress(v string) error {
	count, note, _ := strings.Cut(v, " ")
	var p progress
	var err error
	if share, ok := strings.CutSuffix(count, "%"); ok {
		var n float64
		if n, ok = number(share); !ok || n > 100 {
			err = strconv.ErrRange
		}
		p.done, p.total = int64(math.Round(n)), 100
	} else {
		done, total, has := strings.Cut(count, "/")
		if p.done, err = strconv.ParseInt(done, 10, 64); err == nil && has {
			p.total, err = strconv.ParseInt(total, 10, 64)
		}
	}
	if err != nil || p.done < 0 || p.total < 0 {
		return fmt.Errorf("progress %q: write how much is done, such as 3, 3/10 or 30%%, and a note if you like", clip(v))
	}
	p.note = strings.TrimSpace(note)
	r.progress = &p
	return nil
}

func (r *Reader) addCost(v string) error {
	const most = job.CostMax / 1e6
	usd, ok := number(v)
	if !ok || usd > most {
		return fmt.Errorf("cost %q: it must be an amount in US dollars from 0 to %d, such as 0.25", clip(v), int64(most))
	}
	r.run.AddCost(usd)
	return nil
}

func (r *Reader) setMessage(v string) error {
	if len(v) > failure.MessageMax {
		return fmt.Errorf("message: it has %d bytes; at most %d are allowed", len(v), failure.MessageMax)
	}
	r.Said.Message = v
	return nil
}

func (r *Reader) setPermanent(v string) error {
	if v != "" {
		return fmt.Errorf("permanent %q: nothing may follow the word", clip(v))
	}
	r.Said.Permanent = true
	return nil
}

// setResult keeps valid JSON unchanged. Any other text becomes a JSON string.
func (r *Reader) setResult(v string) error {
	result := []byte(v)
	if !json.Valid(result) {
		var err error
		if result, err = json.Marshal(v); err != nil {
			return fmt.Errorf("result: %w", err)
		}
	}
	if len(result) > job.ResultMax {
		return fmt.Errorf("result: it has %d bytes as JSON; at most %d are allowed", len(result), job.ResultMax)
	}
	r.Said.Result = result
	return nil
}

func (r *Reader) feedback(v string) error {
	if r.feedbacks == FeedbackMax {
		return fmt.Errorf("feedback: a run may give at most %d", FeedbackMax)
	}
	if err := r.run.Feedback(v); err != nil {
		return fmt.Errorf("feedback: %w", err)
	}
	r.feedbacks++
	return nil
}

func (r *Reader) snooze(v string) error {
	if err := wait("snooze", v, &r.Said.Snooze); err != nil {
		return err
	}
	r.Said.Cancel = false
	return nil
}

func (r *Reader) cancel(v string) error {
	r.Said.Cancel, r.Said.Reason, r.Said.Snooze = true, v, 0
	return nil
}

// shownMax is how many bytes of a wrong value a message shows.
const shownMax = 40

// clip returns the beginning of a text, for a message.
func clip(v string) string {
	if len(v) <= shownMax {
		return v
	}
	return strings.ToValidUTF8(v[:shownMax], "") + "…"
}
