package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redrive/redrive/server/events"
	"github.com/redrive/redrive/store"
)

const (
	uploadMax = 64 << 20 // bytes of a file
	formMax   = 1 << 20  // bytes of a form without a file
)

//go:embed page
var pageFiles embed.FS

// site is the part of the example that people see.
type site struct {
	*app
	hub    *events.Hub
	local  local
	pages  *template.Template
	secret []byte // signs cookies
	stop   chan struct{}
}

func newSite(ctx context.Context, a *app) (*site, error) {
	fresh := make([]byte, 32)
	rand.Read(fresh)
	secret, err := a.client.Secret(ctx, "watermark-cookies", fresh)
	if err != nil {
		return nil, err
	}
	pages, err := template.ParseFS(pageFiles, "page/*.html")
	if err != nil {
		return nil, err
	}
	return &site{app: a, hub: events.New(a.client, a.log), pages: pages, secret: secret, stop: make(chan struct{})}, nil
}

// close ends the open streams.
func (s *site) close() {
	close(s.stop)
	s.hub.Close()
}

// handler returns the whole site. Only pages of the site itself may send its forms.
func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request, *account) error{
		"GET /campaigns":                            s.list,
		"POST /assets":                              s.postAsset,
		"POST /campaigns":                           s.postCampaign,
		"POST /campaigns/{id}/tokens":               s.postTokens,
		"GET /campaigns/{id}":                       s.show,
		"POST /campaigns/{id}/publish":              s.postPublish,
		"POST /campaigns/{id}/tokens/{token}/retry": s.postRetry,
		"POST /campaigns/{id}/detect":               s.postDetect,
		"GET /events":                               s.events,
		"GET /outbox":                               s.outbox,
		"POST /logout":                              s.logout,
	} {
		mux.Handle(pattern, s.answer(func(w http.ResponseWriter, r *http.Request) error {
			p, err := s.caller(r)
			if err != nil {
				return err
			}
			if p == nil {
				if r.Method == http.MethodGet && r.URL.Path != "/events" {
					http.Redirect(w, r, "/", http.StatusSeeOther)
					return nil
				}
				return refuse(http.StatusUnauthorized, "Log in first.")
			}
			return h(w, r, p)
		}))
	}
	mux.Handle("GET /{$}", s.answer(s.front))
	mux.Handle("POST /login", s.answer(s.login))
	mux.Handle("GET /t/{token}", s.answer(s.getCopy))
	mux.Handle("POST /hook", s.answer(s.box.post))
	for _, name := range []string{"app.js", "app.css"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, pageFiles, "page/"+name) })
	}
	return http.NewCrossOriginProtection().Handler(mux)
}

// answer turns errors into answers.
func (s *site) answer(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Body != nil {
			most := int64(formMax)
			if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
				most = uploadMax
			}
			r.Body = http.MaxBytesReader(w, r.Body, most)
		}
		err := h(w, r)
		var refused *refusal
		var large *http.MaxBytesError
		switch {
		case err == nil:
		case errors.As(err, &refused):
			http.Error(w, refused.text, refused.status)
		case errors.As(err, &large):
			http.Error(w, fmt.Sprintf("The upload is larger than %d MiB.", large.Limit>>20), http.StatusRequestEntityTooLarge)
		case errors.Is(err, store.ErrUnavailable):
			http.Error(w, "The database is busy; try again.", http.StatusServiceUnavailable)
		default:
			s.log.Error("a request failed", "path", r.URL.Path, "error", err)
			http.Error(w, "Something went wrong; the log says what.", http.StatusInternalServerError)
		}
	})
}

// render writes a page.
func (s *site) render(w http.ResponseWriter, name string, data any) error {
	var page bytes.Buffer
	if err := s.pages.ExecuteTemplate(&page, name, data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err := page.WriteTo(w)
	if err != nil {
		return nil //nolint:nilerr // the caller has gone
	}
	return nil
}

func (s *site) front(w http.ResponseWriter, r *http.Request) error {
	p, err := s.caller(r)
	if err != nil {
		return err
	}
	if p != nil {
		http.Redirect(w, r, "/campaigns", http.StatusSeeOther)
		return nil
	}
	return s.render(w, "login.html", nil)
}

func (s *site) list(w http.ResponseWriter, r *http.Request, p *account) error {
	lines, files, err := s.campaigns(r.Context(), p)
	if err != nil {
		return err
	}
	return s.render(w, "campaigns.html", map[string]any{"Account": p, "Campaigns": lines, "Assets": files, "Flash": s.flashed(w, r)})
}

func (s *site) show(w http.ResponseWriter, r *http.Request, p *account) error {
	v, err := s.page(r.Context(), p, r.PathValue("id"))
	if err != nil {
		return err
	}
	_, files, err := s.campaigns(r.Context(), p)
	if err != nil {
		return err
	}
	return s.render(w, "campaign.html", map[string]any{"Account": p, "C": &v, "Assets": files, "Flash": s.flashed(w, r)})
}

// postAsset stores an uploaded file, or a copy of another asset in place of a damaged one.
func (s *site) postAsset(w http.ResponseWriter, r *http.Request, p *account) error {
	name, body, err := s.uploaded(r, p)
	if err != nil {
		return err
	}
	defer body.Close()
	f, err := s.upload(r.Context(), p, r.FormValue("replace"), name, body)
	if err != nil {
		return err
	}
	w.Header().Set("Asset-Id", f.ID)
	return s.to(w, r, "/campaigns", f.Name+" is stored.")
}

// uploaded returns the file of a form, or the asset that its field same_as names.
func (s *site) uploaded(r *http.Request, p *account) (name string, body io.ReadCloser, err error) {
	if same := r.FormValue("same_as"); same != "" {
		var f asset
		err := s.read(r.Context(), func(tx *sql.Tx, _ store.Tx) (err error) {
			f, err = assetOf(r.Context(), tx, p, same)
			return err
		})
		if err != nil {
			return "", nil, err
		}
		body, err := os.Open(f.Path)
		return f.Name, body, err
	}
	body, head, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return "", nil, refuse(http.StatusBadRequest, "Choose a file.")
	}
	if err != nil {
		return "", nil, err
	}
	return head.Filename, body, nil
}

func (s *site) postCampaign(w http.ResponseWriter, r *http.Request, p *account) error {
	downloads, err := strconv.ParseInt("0"+r.FormValue("max_downloads"), 10, 64)
	if err != nil {
		return refuse(http.StatusBadRequest, "Downloads %.20q: must be a number.", r.FormValue("max_downloads"))
	}
	expires, err := parseTime(r.FormValue("expires_at"))
	if err != nil {
		return err
	}
	c, err := s.create(r.Context(), p, campaign{
		Asset: r.FormValue("asset"), Name: r.FormValue("name"), MaxDownloads: downloads, ExpiresAt: expires,
		Visible: r.FormValue("visible") != "", Invisible: r.FormValue("invisible") != "",
	})
	if err != nil {
		return err
	}
	return s.to(w, r, "/campaigns/"+c.ID, "")
}

func (s *site) postTokens(w http.ResponseWriter, r *http.Request, p *account) error {
	id := r.PathValue("id")
	added, err := s.addRecipients(r.Context(), p, id, r.FormValue("asset"), strings.Split(r.FormValue("recipients"), "\n"))
	if err != nil {
		return err
	}
	return s.to(w, r, "/campaigns/"+id, fmt.Sprintf("Recipients added: %d.", added))
}

func (s *site) postPublish(w http.ResponseWriter, r *http.Request, p *account) error {
	id := r.PathValue("id")
	if err := s.publish(r.Context(), p, id); err != nil {
		return err
	}
	return s.to(w, r, "/campaigns/"+id, "")
}

func (s *site) postRetry(w http.ResponseWriter, r *http.Request, p *account) error {
	id := r.PathValue("id")
	recipient, err := s.retry(r.Context(), p, id, r.PathValue("token"))
	if err != nil {
		return err
	}
	return s.to(w, r, "/campaigns/"+id, "Retry queued for "+recipient+".")
}

func (s *site) postDetect(w http.ResponseWriter, r *http.Request, p *account) error {
	id := r.PathValue("id")
	name, body, err := s.uploaded(r, p)
	if err != nil {
		return err
	}
	defer body.Close()
	name = filepath.Base(name)
	if len(name) > textMax {
		return refuse(http.StatusBadRequest, "The name of a file has at most %d bytes.", textMax)
	}
	path := filepath.Join(s.dir, "detect", rand.Text())
	if err := writeFile(path, body); err != nil {
		return err
	}
	if err := s.detect(r.Context(), p, id, name, path); err != nil {
		s.remove(path)
		return err
	}
	return s.to(w, r, "/campaigns/"+id, "The search has begun.")
}

func (s *site) getCopy(w http.ResponseWriter, r *http.Request) error {
	token := r.PathValue("token")
	f, err := s.download(r.Context(), token)
	if err != nil {
		return err
	}
	s.local.touch(f.batch, f.job, token)
	r.Header.Del("Range") // a part would count as a download, too
	w.Header().Set("Content-Disposition", `attachment; filename="copy`+filepath.Ext(f.path)+`"`)
	http.ServeFile(w, r, f.path)
	return nil
}

// to answers a form: the next page shows the text.
func (s *site) to(w http.ResponseWriter, r *http.Request, path, text string) error {
	if text != "" {
		http.SetCookie(w, cookie("flash", base64.URLEncoding.EncodeToString([]byte(text)), 60))
	}
	http.Redirect(w, r, path, http.StatusSeeOther) //nolint:gosec // the paths are those of the site
	return nil
}

func cookie(name, value string, seconds int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteLaxMode} //nolint:gosec // the example is served over HTTP
}

// flashed returns the text that the answer before has left, once.
func (s *site) flashed(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie("flash")
	if err != nil {
		return ""
	}
	http.SetCookie(w, cookie("flash", "", -1))
	text, err := base64.URLEncoding.DecodeString(c.Value)
	if err != nil {
		return ""
	}
	return string(text)
}
