package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// player uses the pages as a browser does.
type player struct {
	base string
	http *http.Client
}

func newPlayer(base string) (*player, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &player{base, &http.Client{Jar: jar, CheckRedirect: stay}}, nil
}

// answered is an answer of the pages.
type answered struct {
	status int
	head   http.Header
	body   string
}

// Text returns the answer without the tags of HTML.
func (a *answered) text() string { return tag.ReplaceAllString(a.body, "") }

var tag = regexp.MustCompile(`<[^>]*>`)

func (p *player) send(ctx context.Context, method, path, contentType string, body io.Reader) (a answered, err error) {
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, body)
	if err != nil {
		return a, err
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	got, err := p.http.Do(r)
	if err != nil {
		return a, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return answered{got.StatusCode, got.Header, string(text)}, err
}

func (p *player) get(ctx context.Context, path string) (answered, error) {
	return p.send(ctx, http.MethodGet, path, "", nil)
}

// post sends a form. Its fields are names and values in turns.
func (p *player) post(ctx context.Context, path string, fields ...string) (answered, error) {
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return p.send(ctx, http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// done is post for a form that must be taken. It returns the path that the answer leads to.
func (p *player) done(ctx context.Context, path string, fields ...string) (string, error) {
	return taken(p.post(ctx, path, fields...))
}

func taken(a answered, err error) (string, error) {
	if err == nil && a.status != http.StatusSeeOther {
		err = fmt.Errorf("got the answer %d %s, want 303", a.status, strings.TrimSpace(a.body))
	}
	return a.head.Get("Location"), err
}

// upload sends a file.
func (p *player) upload(ctx context.Context, path, file, replace string) (a answered, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return a, err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("replace", replace); err != nil {
		return a, err
	}
	part, err := form.CreateFormFile("file", filepath.Base(file))
	if err != nil {
		return a, err
	}
	if _, err := part.Write(data); err != nil {
		return a, err
	}
	if err := form.Close(); err != nil {
		return a, err
	}
	return p.send(ctx, http.MethodPost, path, form.FormDataContentType(), &body)
}

func (p *player) login(ctx context.Context, email, password string) error {
	_, err := p.done(ctx, "/login", "email", email, "password", password)
	return err
}

// push is one event of a stream.
type push struct {
	name string
	id   string
	data map[string]any
}

func (e *push) text(field string) string { text, _ := e.data[field].(string); return text }
func (e *push) number(field string) int  { n, _ := e.data[field].(float64); return int(n) }

// listen opens a stream of events. The channel is closed when the stream ends.
func (p *player) listen(ctx context.Context, after string, topics ...string) (<-chan push, error) {
	query := url.Values{"topic": topics}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/events?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	got, err := p.http.Do(r) //nolint:bodyclose // the goroutine closes it
	if err != nil {
		return nil, err
	}
	if got.StatusCode != http.StatusOK {
		got.Body.Close()
		return nil, fmt.Errorf("got the answer %d, want a stream", got.StatusCode)
	}
	all := make(chan push, 10_000)
	go func() {
		defer close(all)
		defer got.Body.Close()
		var e push
		for lines := bufio.NewScanner(got.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				if json.Unmarshal([]byte(value), &e.data) != nil {
					return
				}
			case "":
				if e.name != "" {
					all <- e
				}
				e = push{}
			}
		}
	}()
	return all, nil
}

// await reads a stream until an event is as wanted.
func await(ctx context.Context, stream <-chan push, what string, wanted func(*push) bool) error {
	for {
		select {
		case e, ok := <-stream:
			if !ok {
				return fmt.Errorf("wait for %s: the stream of events has ended", what)
			}
			if wanted(&e) {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		}
	}
}
