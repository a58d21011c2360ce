package deliver

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	html "html/template"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	text "text/template"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/notify"
)

//go:embed templates
var builtIn embed.FS

// layout is the template of the HTML form of all mails.
const layout = "mail.html"

// subjectPrefix begins the first line of a template of a text.
const subjectPrefix = "Subject: "

// Templates are the texts of mails: one for each event, named after it, such as batch_partial.txt,
// and one for the HTML form of all of them, mail.html.
//
// A text has a first line "Subject: …", an empty line and the body. It is a template of package
// text/template, which gets a notify.Facts and the fields On, Team and To of the notice. mail.html is a
// template of package html/template. It gets the Subject, the Paragraphs of the text and the Link.
type Templates struct {
	texts map[string]*text.Template // by event
	html  *html.Template
}

// Page is what the template of the HTML form gets.
type Page struct {
	Subject    string
	Paragraphs []string // of the text: what is between two empty lines
	Link       string   // a page about the notice, or ""
}

// view is what the template of a text gets.
type view struct {
	notify.Facts
	On   notify.Event
	Team bool
	To   string
}

// NewTemplates returns the built-in texts. A file in the folder replaces the built-in text of the same
// name. The folder may be nil. Each text is tried with sample facts. The error names all mistakes, each with
// its file, its line and what to do.
func NewTemplates(folder fs.FS) (*Templates, error) {
	sources, err := builtInTexts()
	if err != nil {
		return nil, err
	}
	if err := replaceTexts(sources, folder); err != nil {
		return nil, err
	}
	t := &Templates{texts: make(map[string]*text.Template)}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if name == layout {
			t.html, err = html.New(name).Option("missingkey=zero").Parse(sources[name])
		} else {
			t.texts[name], err = text.New(name).Option("missingkey=zero").Parse(sources[name])
		}
		errs = append(errs, explained(err, name))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return t, t.try()
}

func builtInTexts() (map[string]string, error) {
	entries, err := fs.ReadDir(builtIn, "templates")
	if err != nil {
		return nil, fmt.Errorf("read the texts of mails: %w", err)
	}
	sources := make(map[string]string)
	for _, e := range entries {
		b, err := fs.ReadFile(builtIn, path.Join("templates", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the texts of mails: %w", err)
		}
		sources[e.Name()] = string(b)
	}
	return sources, nil
}

// textSizeMax is the maximum size of a template, in bytes.
const textSizeMax = 64 << 10

// replaceTexts replaces texts by the files of a folder.
func replaceTexts(sources map[string]string, folder fs.FS) error {
	if folder == nil {
		return nil
	}
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return fmt.Errorf("read the templates of mails: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".txt") && !strings.HasSuffix(name, ".html") {
			continue
		}
		if sources[name] == "" {
			known := slices.Sorted(maps.Keys(sources))
			errs = append(errs, fmt.Errorf("%s: there is no mail with this name; name the file like the mail that it replaces%s", name, hint(name, known)))
			continue
		}
		b, err := fs.ReadFile(folder, name)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		case len(b) == 0 || len(b) > textSizeMax:
			errs = append(errs, fmt.Errorf("%s: the file has %d bytes: 1 to %d are allowed", name, len(b), textSizeMax))
		default:
			sources[name] = string(b)
		}
	}
	return errors.Join(errs...)
}

func hint(name string, known []string) string {
	if h := suggest.DidYouMean(name, known); h != "" {
		return h
	}
	return ": " + suggest.List(known)
}

// fileOf returns the name of the template of an event.
func fileOf(on notify.Event) string { return strings.ReplaceAll(string(on), ".", "_") + ".txt" }

// Render returns the subject, the text and the HTML form of a notice.
func (t *Templates) Render(n *notify.Notice) (subject, plain, page string, err error) {
	name := fileOf(n.On)
	template := t.texts[name]
	if template == nil {
		return "", "", "", fmt.Errorf("there is no text for mails about %q", n.On)
	}
	var b bytes.Buffer
	if err := template.Execute(&b, &view{Facts: n.Facts, On: n.On, Team: n.Team, To: n.To}); err != nil {
		return "", "", "", explained(err, name)
	}
	first, body, _ := strings.Cut(strings.TrimLeft(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\n"), "\n")
	subject, ok := strings.CutPrefix(first, subjectPrefix)
	if body = blankLines.ReplaceAllString(strings.TrimSpace(body), "\n\n"); !ok || strings.TrimSpace(subject) == "" || body == "" {
		return "", "", "", fmt.Errorf("%s:1: the text must begin with a line such as %q, followed by an empty line and the body", name, subjectPrefix+"{{.At}}")
	}
	paragraphs := strings.Split(body, "\n\n")
	if n.Facts.Link != "" {
		body += "\n\n" + n.Facts.Link
	}
	b.Reset()
	if err := t.html.Execute(&b, Page{Subject: subject, Paragraphs: paragraphs, Link: n.Facts.Link}); err != nil {
		return "", "", "", explained(err, layout)
	}
	return subject, body + "\n", b.String(), nil
}

var blankLines = regexp.MustCompile(`\n[ \t]*\n\s*`)

// The errors of package text/template say "template: FILE:LINE:COLUMN: executing "FILE" at <FIELD>: TEXT".
var (
	templateError = regexp.MustCompile(`^(?:html/)?template: (?:[^:]+):(\d+)(?::\d+)?: (?:executing "[^"]*" at (<[^>]*>): )?(.*)$`)
	unknownField  = regexp.MustCompile(`can't evaluate field (\w+) in type \*?(?:[\w/]+\.)?(\w+)`)
)

// explained returns an error of a template with its file, its line, and what to do.
func explained(err error, name string) error {
	if err == nil {
		return nil
	}
	m := templateError.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f := unknownField.FindStringSubmatch(m[3]); f != nil {
		return fmt.Errorf("%s:%s: %s: there is no fact %q%s", name, m[1], strings.Trim(m[2], "<>"), f[1], hint(f[1], fieldsOf(f[2])))
	}
	if strings.Contains(m[3], "nil pointer") {
		return fmt.Errorf("%s:%s: %s: a notice may lack this fact: put the fact into {{with}} … {{end}}", name, m[1], strings.Trim(m[2], "<>"))
	}
	return fmt.Errorf("%s:%s: %s: correct the template", name, m[1], m[3])
}

// fieldsOf returns the names of the facts of a type.
func fieldsOf(name string) (names []string) {
	for _, v := range []any{view{}, notify.JobFacts{}, notify.BatchFacts{}, notify.DigestFacts{}, notify.CauseCount{}, notify.EndpointFacts{}, notify.RedriveFacts{}, Page{}} {
		if t := reflect.TypeOf(v); t.Name() == name {
			for _, f := range reflect.VisibleFields(t) {
				if !f.Anonymous {
					names = append(names, f.Name)
				}
			}
		}
	}
	return names
}

// try renders each text with each form of its facts.
func (t *Templates) try() error {
	var errs []error
	for _, on := range append([]notify.Event{notify.Digest, notify.Test}, events()...) {
		for _, n := range samples(on) {
			_, _, _, err := t.Render(&n)
			if err != nil && !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// events returns the events of which notices are made.
func events() (list []notify.Event) {
	for _, on := range notify.Events() {
		if on != string(notify.BatchEnd) { // a notice has the end itself
			list = append(list, notify.Event(on))
		}
	}
	return list
}

// samples returns notices of an event with each fact that they can have, and without the facts that
// they need not have.
func samples(on notify.Event) (list []notify.Notice) {
	at := "2026-01-02T15:04:05Z"
	job := notify.JobFacts{ID: "42", Kind: "watermark", Queue: "video", Owner: "ann", Correlation: "c", Key: "bob@example.com", Life: 1, Attempts: 4,
		Reason: "max_retries_exceeded", Class: "NetworkTimeout", Code: "FFMPEG_TIMEOUT", Group: "0123456789abcdef", Message: "The server did not answer.",
		Attrs: map[string]string{"campaign": "7"}, At: at, Link: "https://jobs.example.com/ui/jobs/42"}
	batch := notify.BatchFacts{ID: "7", Key: "spring", Name: "Spring", Owner: "ann", State: "PARTIAL", Outcome: 1, Total: 50, Completed: 45, Dead: 4, Cancelled: 1,
		Attrs: map[string]string{"campaign": "7"}, Link: "https://jobs.example.com/ui/batches/7"}
	digest := notify.DigestFacts{N: 10, Items: []notify.JobFacts{job}, Ended: []notify.BatchFacts{batch}, More: 8,
		Causes: []notify.CauseCount{{Class: "NetworkTimeout", Code: "FFMPEG_TIMEOUT", N: 9}}, Since: at, Until: at}
	facts := notify.Facts{At: at, Link: job.Link}
	bare := notify.Facts{At: at}
	switch on {
	case notify.BatchReady, notify.BatchPartial, notify.BatchFailed, notify.BatchExpired:
		facts.Batch, bare.Batch = &batch, &notify.BatchFacts{}
	case notify.MemberDead, notify.JobDead, notify.JobHeld, notify.GroupFirst:
		facts.Job, bare.Job = &job, &notify.JobFacts{}
		if on == notify.MemberDead {
			bare.Batch = &notify.BatchFacts{}
		}
		if on != notify.JobDead {
			facts.Batch = &batch
		}
	case notify.Digest:
		facts.Digest, bare.Digest, facts.Batch = &digest, &notify.DigestFacts{}, &batch
	case notify.WebhookOff:
		facts.Endpoint, bare.Endpoint = &notify.EndpointFacts{Name: "shop", Reason: "the receiver has answered 410"}, &notify.EndpointFacts{}
	case notify.RedriveStopped:
		facts.Redrive = &notify.RedriveFacts{ID: "3", By: "tess", Reason: "the storage is back", Why: "30% of 10 failed with the same cause again, 20% allowed",
			Total: 400, Released: 10, Completed: 7, Dead: 3, Link: "https://jobs.example.com/ui/redrives/3"}
		bare.Redrive = &notify.RedriveFacts{}
	case notify.BatchEnd, notify.Test: // a name of three events in rules, and a webhook without a text
	}
	for _, f := range []notify.Facts{facts, bare} {
		for _, team := range []bool{false, true} {
			list = append(list, notify.Notice{V: 1, On: on, To: "ann@example.com", Team: team, Facts: f})
		}
	}
	return list
}
