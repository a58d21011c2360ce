// Package page has the pages for operators under /ui: what is failing, why, and how it is brought
// back.
//
// Routes returns the table of the pages, with the rows of package internal/api: package server
// serves them and checks access as it does for the API. A page is written by html/template from a
// struct that its handler fills. Sentences come from package internal/words, filters and lists from
// package internal/api, so that the page, the API and the command say the same. Nothing works only
// with a script.
package page

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/joblink"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// csp allows a page its own style sheet, script, images and requests, and nothing else.
const csp = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// Options configure the pages. The zero value of every field is its default.
type Options struct {
	// Base is the path below which the server is mounted. Default "".
	Base string
	// Environment is a word about the installation, such as production, which every page shows.
	Environment string
	// Links are the templates of links from the page of a job.
	Links []joblink.Template
	// Version is the version of the program.
	Version string
	// Logins says that people log in with an access key.
	Logins bool
}

// Pages answers the requests of the table of pages. It is safe for concurrent use.
type Pages struct {
	o      Options
	assets map[string]asset

	renders renders

	mu     sync.Mutex
	secret []byte // signs the messages about actions; nil until it is read

	zones  sync.Mutex
	byZone map[string]map[string]*template.Template // by the name of the time zone, and of the page
}

// asset is a file that pages refer to by a name with the hash of its content.
type asset struct {
	path, media string
	body        []byte
}

// New makes the pages.
func New(o Options) (*Pages, error) {
	p := &Pages{o: o, byZone: make(map[string]map[string]*template.Template), assets: make(map[string]asset)}
	for name, media := range map[string]string{"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "mark.svg": "image/svg+xml"} {
		body, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			return nil, fmt.Errorf("page: %w", err)
		}
		if name == "page.js" {
			body = short(body)
		}
		hash := fnv.New64a()
		_, _ = hash.Write(body) // a hash never fails
		stem, ext, _ := strings.Cut(name, ".")
		path := fmt.Sprintf("/ui/assets/%s-%x.%s", stem, hash.Sum64(), ext)
		p.assets[name] = asset{path: path, media: media, body: body}
	}
	if _, err := p.templates(time.UTC); err != nil {
		return nil, err
	}
	return p, nil
}

// short returns a script without indentation, comments and blanks around operators. No text in it may have two
// slashes after a blank, or such an operator between blanks.
func short(script []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(script) {
		code, _, commented := bytes.Cut(line, []byte(" // "))
		if commented {
			line = append(code, '\n')
		}
		if line = bytes.TrimLeft(line, " "); !bytes.HasPrefix(line, []byte("//")) {
			out.Write(line)
		}
	}
	script = out.Bytes()
	for _, op := range [...]string{"=>", "=", "===", "!==", "&&", "||", "+"} {
		script = bytes.ReplaceAll(script, []byte(" "+op+" "), []byte(op))
	}
	return script
}

// frame is what every page shows around its own content. The struct of a page embeds it.
type frame struct {
	Title   string // of the window
	Section string // the entry of the navigation that is current
	Heading string // the finding of the page
	Lead    string // one sentence under the heading

	Base, Environment, Version string
	Actor, Roles, Policy       string
	Logins                     bool
	MayOperate, MayAdminister  bool
	Path                       string // the path and query of the page, to come back to
	Posted                     bool   // the page answers a form, so the address of the browser is not its path
	Topics                     string // the topics of events after which the page is read again; "" means none
	Since                      string // the cursor of the newest event when the page was begun
	Stale                      bool   // the numbers that are read once a second are from before the newest event
	Live                       bool   // only what changes on a page that is open is written, for all readers with the same roles
	Nonce                      string // an Idempotency-Key for the forms of the page; "" if Live
	Now                        job.Micros
	Zone                       *time.Location // time zone of the page
	Pending                    int64          // dead letters that nobody has dealt with
	Groups                     int            // groups with pending dead letters
	Active                     int            // redrives that are active
	Partial                    int64          // batches that have ended in part
	PartialMore                bool           // there are more than Partial
	Done                       *done          // what the last action did
	Beside                     bool           // the page shows Done beside its buttons

	dead *redrive.DeadStats // read together with Pending, Groups and Active
}

// besideButtons makes the page show beside its buttons why an action was refused.
func (f *frame) besideButtons() { f.Beside = f.Done != nil && f.Done.Bad && f.Done.Do != "" }

// Back is the path of the page without Base, for a form that leads back to it.
func (f *frame) Back() string { return strings.TrimPrefix(f.Path, f.Base) }

// frame reads what every page shows.
func (p *Pages) frame(a *api.API, c *api.Call, section, title string) (frame, error) {
	f := p.bare(c, section, title)
	f.Now = job.At(a.Options().Now())
	f.Policy = a.Client().Policy().Hash()[:8]
	_, last, err := a.Client().EventSpan(c.Context()) // before anything else is read
	if err != nil {
		return f, err
	}
	f.Since = last.String()
	now, err := a.Standing(c.Context())
	if err != nil {
		return f, err
	}
	f.Pending, f.Groups, f.Active, f.dead = now.Pending, now.Groups, now.Redrives, &now.Dead
	f.Partial, f.PartialMore = now.Partial, now.PartialMore
	f.Stale = now.Since != last
	if f.Live = c.R.Header.Get(liveHeader) != ""; f.Live { // messages and nonces are for one reader
		f.Nonce = ""
	} else {
		f.Done = p.takeDone(a, c)
	}
	return f, nil
}

// bare returns a frame without anything from the store.
func (p *Pages) bare(c *api.Call, section, title string) frame {
	return frame{
		Title: title, Section: section, Base: p.o.Base, Environment: p.o.Environment, Version: p.o.Version, Logins: p.o.Logins && c.Caller.Key != "",
		Actor: c.Caller.Actor, Roles: strings.Join(c.Caller.Roles.Names(), ", "), Path: c.R.URL.RequestURI(), Posted: c.R.Method == http.MethodPost, Nonce: rand.Text(),
		Zone: zoneOf(c.R), MayOperate: c.Caller.Roles.Any(access.Operate), MayAdminister: c.Caller.Roles.Any(access.Administer),
	}
}

// write answers with a page. The template is executed before the first byte is sent, so that a
// mistake in it is an error and not half a page.
func (p *Pages) write(w http.ResponseWriter, status int, name string, view any) error {
	zone := time.UTC
	if v, ok := view.(zoned); ok && v.zone() != nil {
		zone = v.zone()
	}
	templates, err := p.templates(zone)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := templates[name].ExecuteTemplate(&out, "layout", view); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", csp)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("%w: %w", api.ErrSent, err)
	}
	return nil
}

// to answers with a redirect to a page.
func (p *Pages) to(c *api.Call, path string) error {
	c.W.Header().Set("Location", p.o.Base+path)
	c.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// local returns a path on this server, for a redirect to where a form came from. A path that could
// lead to another server is replaced by the first page.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/ui/") || strings.Contains(path, "..") || strings.ContainsAny(path, "\\\r\n") {
		return "/ui/"
	}
	return path
}

// problemView is the page that reports a problem.
type problemView struct {
	frame
	Problem *api.Problem
	Away    bool // the store does not answer
	BackTo  string
	Retry   int // seconds until the page asks again; 0 means never
}

// WriteProblem answers with the page of a problem. Who has to log in is sent to the page that asks
// for a key.
func (p *Pages) WriteProblem(w http.ResponseWriter, r *http.Request, problem *api.Problem, c *api.Call) error {
	if problem.Kind() == api.Unauthenticated && p.o.Logins {
		if r.Method == http.MethodPost && c.Route != nil {
			return p.keepForm(c)
		}
		return p.to(c, "/ui/login?next="+url.QueryEscape(strings.TrimPrefix(r.URL.RequestURI(), p.o.Base)))
	}
	v := problemView{frame: p.bare(c, "", problem.Title), Problem: problem, BackTo: local(strings.TrimPrefix(refererPath(r), p.o.Base))}
	v.Problem.RequestID = c.RequestID
	v.Away = slices.Contains([]*api.Kind{api.StoreUnavailable, api.Starting, api.Stopping, api.StoreFull, api.StoreReadOnly}, problem.Kind())
	v.Heading, v.Lead = problem.Title, problem.Detail
	if v.Away && r.Method == http.MethodGet {
		v.Retry = 5
	}
	return p.write(w, problem.Status, "problem", &v)
}

// refererPath returns the path of the page that the request came from, "" if it is not known.
func refererPath(r *http.Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host != r.Host {
		return ""
	}
	return u.RequestURI()
}

// asset answers with a file.
func (p *Pages) asset(_ *api.API, c *api.Call) error {
	for _, a := range p.assets {
		if a.path == "/ui/assets/"+c.R.PathValue("name") {
			c.W.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			return c.Bytes(http.StatusOK, a.media, a.body)
		}
	}
	return api.NotFound.New("There is no such file.")
}

// form reads the fields of a form. They are text of at most formMax bytes in all.
func form(c *api.Call) (url.Values, error) {
	if media, _, err := mime.ParseMediaType(c.R.Header.Get("Content-Type")); c.R.ContentLength != 0 && (err != nil || media != "application/x-www-form-urlencoded") {
		return nil, api.UnsupportedMediaType.New("This page takes a form (application/x-www-form-urlencoded), not %.100q. Programs use the API.", c.R.Header.Get("Content-Type"))
	}
	c.R.Body = http.MaxBytesReader(c.W, c.R.Body, formMax)
	if err := c.R.ParseForm(); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return nil, api.TooLarge.New("The form has more than %s.", words.Size(formMax))
		}
		return nil, api.InvalidField.New("The form cannot be read: %s. Load the page again and send it once more.", err)
	}
	for name, values := range c.R.PostForm {
		for _, value := range values {
			if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				return nil, api.InvalidField.Mistaken(api.Mistake{Parameter: words.Shorten(words.Clean(name), 40), Detail: "has bytes that are not text in UTF-8, or NUL; type it again"})
			}
		}
	}
	return c.R.PostForm, nil
}

// formMax is the largest size of a form in bytes: a payload, as a form writes it, and a reason.
const formMax = 4 << 20

// groupsOf returns the groups with pending dead letters, the largest first.
func groupsOf(ctx context.Context, client *redrive.Client, most int) (redrive.GroupPage, error) {
	return client.Groups(ctx, redrive.GroupFilter{Pending: true, Largest: true, Merge: true, Limit: most})
}
