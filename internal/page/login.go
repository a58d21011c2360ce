package page

import (
	"errors"
	"net/http"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/server/access"
)

// loginView asks for an access key.
type loginView struct {
	frame
	Next   string
	Wrong  string
	Single bool // the program that the server is a part of has its own login
}

func (p *Pages) askLogin(a *api.API, c *api.Call) error {
	return p.writeLogin(a, c, c.R.URL.Query().Get("next"), "", http.StatusOK)
}

func (p *Pages) writeLogin(a *api.API, c *api.Call, next, wrong string, status int) error {
	v := loginView{frame: p.bare(c, "", "Log in"), Next: local(next), Wrong: wrong, Single: a.Options().Gate == nil}
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
	_, err = a.Options().Gate.Login(c.W, c.R, in.Get("key"))
	switch {
	case err == nil:
		return p.to(c, local(in.Get("next")))
	case errors.Is(err, access.ErrUnauthenticated):
		return p.writeLogin(a, c, in.Get("next"), "This key is not valid: it is unknown, mistyped, expired or revoked.", http.StatusUnauthorized)
	case errors.As(err, new(*access.Limited)):
		return p.writeLogin(a, c, in.Get("next"), api.ProblemOf(err).Detail, http.StatusTooManyRequests)
	}
	return err
}

func (p *Pages) logOut(a *api.API, c *api.Call) error {
	if gate := a.Options().Gate; gate != nil {
		gate.Logout(c.W, c.R)
	}
	return p.to(c, "/ui/login")
}
