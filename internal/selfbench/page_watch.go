package selfbench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// pagesSeen is what open pages have seen.
type pagesSeen struct {
	Updates int64
	Longest time.Duration // between two updates of a page
	Badge   time.Duration // from the end of a job to its open page, p95
	Rate    float64
}

// watching has the open pages of a process.
type watching struct {
	url     string
	client  *http.Client
	all     sync.WaitGroup
	updates atomic.Int64
	mu      sync.Mutex
	longest time.Duration
	badge   histogram
}

// childWatch opens the pages that the input names, one in each line, and an empty line. Each does
// what the script of a page does: it listens, and reads the page again after each notice.
func childWatch(ctx context.Context, in io.Reader, out io.Writer, url string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := watching{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}}
	lines := bufio.NewScanner(in)
	for n := 0; lines.Scan() && lines.Text() != ""; n++ {
		path, topic, _ := strings.Cut(lines.Text(), " ")
		if err := w.open(ctx, path, topic, fmt.Sprint("reader ", n/10)); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "ready")
	for lines.Scan() {
	}
	pause(ctx, 2*time.Second) // for the last notices
	cancel()
	w.all.Wait()
	badge := w.badge.read()
	return json.NewEncoder(out).Encode(pagesSeen{Updates: w.updates.Load(), Longest: w.longest, Badge: badge.at(0.95)})
}

func (w *watching) get(ctx context.Context, path, caller string, headers ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set(callerHeader, caller)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return w.client.Do(r)
}

// open opens the stream of a page, and reads the page after each notice until the context ends.
func (w *watching) open(ctx context.Context, path, topic, caller string) error {
	got, err := w.get(ctx, "/ui/live?after=0.0&topic="+url.QueryEscape(topic), caller, "Accept", "text/event-stream")
	if err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("the stream was answered with %s", got.Status), got.Body.Close())
	}
	w.all.Go(func() {
		defer got.Body.Close()
		id, last, shown := "", time.Time{}, false
		for lines := bufio.NewScanner(got.Body); lines.Scan(); {
			text := lines.Text()
			if notice, is := strings.CutPrefix(text, "id: "); is {
				id = notice
				continue
			}
			data, is := strings.CutPrefix(text, "data: ")
			if !is || id == "" {
				continue
			}
			pause(ctx, 50*time.Millisecond) // as the script does
			page, err := w.get(ctx, path, caller, "Redrive-Live", id+" "+data)
			if err != nil {
				return
			}
			body, err := io.ReadAll(page.Body)
			_ = page.Body.Close() // it was read
			if err != nil {
				return
			}
			now := time.Now()
			w.updates.Add(1)
			w.mu.Lock()
			if !last.IsZero() && data == "false" {
				w.longest = max(w.longest, now.Sub(last))
			}
			w.mu.Unlock()
			last, id = now, ""
			if !shown && bytes.Contains(body, []byte("Completed at ")) {
				shown = true
				if at, err := w.endOf(ctx, path, caller); err == nil {
					w.badge.add(now.Sub(at))
				}
			}
		}
	})
	return nil
}

// endOf returns when the job of a page has ended.
func (w *watching) endOf(ctx context.Context, path, caller string) (time.Time, error) {
	got, err := w.get(ctx, strings.Replace(path, "/ui/", "/api/", 1), caller)
	if err != nil {
		return time.Time{}, err
	}
	defer got.Body.Close()
	var out struct {
		Job struct {
			FinishedAt time.Time `json:"finished_at"`
		} `json:"job"`
	}
	if err := json.NewDecoder(got.Body).Decode(&out); err != nil {
		return time.Time{}, err
	}
	if out.Job.FinishedAt.IsZero() {
		return time.Time{}, errors.New("the job has no end")
	}
	return out.Job.FinishedAt, nil
}
