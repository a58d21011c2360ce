package page

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/server/access"
)

// loginView asks for an access key.
type loginView struct {
	frame
	Next   string
	Wrong  string
	Single bool // the program that the server is a part of has its own login
	Kept   kept // a form whose sender has to log in first
}

// kept is a form that was sent without a login. It is sent again when its sender has logged in and
// says so.
type kept struct {
	Path   string
	Fields url.Values
}

// Text returns the form in one field.
func (k kept) Text() string {
	if k.Path == "" {
		return ""
	}
	return k.Path + "?" + k.Fields.Encode()
}

// keptOf reads a form that the page for the login has kept.
func keptOf(text string) (k kept) {
	path, query, _ := strings.Cut(text, "?")
	fields, err := url.ParseQuery(query)
	if err != nil || local(path) != path {
		return kept{}
	}
	return kept{Path: path, Fields: fields}
}

// Typed returns the fields into which a person has typed, for reading.
func (k kept) Typed() (list []keptField) {
	for _, name := range [...]string{"payload", "text", "patch", "reason", "queue", "priority", "delay", "until", "count", "deaths", "workers", "limit", "rate", "assignee", "name", "set"} {
		if value := k.Fields.Get(name); value != "" {
			list = append(list, keptField{name, words.CleanBlock(value)})
		}
	}
	return list
}

// keptField is a field with what was typed.
type keptField struct{ Name, Value string }

// keepForm asks for a key, because the login of the sender of a form is over, and keeps the form.
func (p *Pages) keepForm(c *api.Call) error {
	in, err := form(c)
	if err != nil {
		in = url.Values{}
	}
	k := kept{Path: strings.TrimPrefix(c.R.URL.Path, p.o.Base), Fields: in}
	if local(k.Path) != k.Path || strings.HasPrefix(k.Path, "/ui/log") {
		k = kept{}
	}
	v := loginView{frame: p.bare(c, "", "Log in"), Next: local(strings.TrimPrefix(refererPath(c.R), p.o.Base)), Kept: k}
	v.Heading = "Log in"
	v.Wrong = "Your login is over. Nothing was done, and what you typed is kept."
	return p.write(c.W, http.StatusUnauthorized, "login", &v)
}

// sendAgain shows a form that was sent before the login, so that its sender can send it.
func (p *Pages) sendAgain(c *api.Call, k kept) error {
	v := loginView{frame: p.bare(c, "", "Send the form"), Kept: k}
	v.Heading, v.Actor = "You are logged in. Send what you typed?", ""
	return p.write(c.W, http.StatusOK, "again", &v)
}

func (p *Pages) askLogin(a *api.API, c *api.Call) error {
	return p.writeLogin(a, c, c.R.URL.Query().Get("next"), kept{}, "", http.StatusOK)
}

func (p *Pages) writeLogin(a *api.API, c *api.Call, next string, k kept, wrong string, status int) error {
	v := loginView{frame: p.bare(c, "", "Log in"), Next: local(next), Kept: k, Wrong: wrong, Single: a.Options().Gate == nil}
	v.Heading = "Log in"
	return p.write(c.W, status, "login", &v)
}

// logIn checks the key and sets the cookie that stands for it.
func (p *Pages) logIn(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	if a.Options().Gate == nil {
		return api.NotFound.New("The program that this server is a part of has its own login.")
	}
	k := keptOf(in.Get("kept"))
	_, err = a.Options().Gate.Login(c.W, c.R, in.Get("key"))
	switch {
	case err == nil && k.Path != "":
		return p.sendAgain(c, k)
	case err == nil:
		return p.to(c, local(in.Get("next")))
	case errors.Is(err, access.ErrUnauthenticated):
		return p.writeLogin(a, c, in.Get("next"), k, "This key is not valid: it is unknown, mistyped, expired or revoked.", http.StatusUnauthorized)
	case errors.As(err, new(*access.Limited)):
		return p.writeLogin(a, c, in.Get("next"), k, api.ProblemOf(err).Detail, http.StatusTooManyRequests)
	}
	return err
}

func (p *Pages) logOut(a *api.API, c *api.Call) error {
	if gate := a.Options().Gate; gate != nil {
		gate.Logout(c.W, c.R)
	}
	return p.to(c, "/ui/login")
}
