package page

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/job"
)

// done says what an action did. It travels to the next page in a cookie that is signed, so that no
// other site can make a page tell something.
type done struct {
	Text string `json:"t"`
	Bad  bool   `json:"b,omitempty"` // the action was refused
	Link string `json:"l,omitempty"` // a path of a page about it
	Of   string `json:"o,omitempty"` // the words of the link
	At   int64  `json:"a"`           // when, in microseconds since 1970
	// Do is the action. A page shows a refusal beside the button of this action.
	Do string `json:"d,omitempty"`
	// List says for single jobs why they were skipped. More is the number of those that are left out.
	List []string `json:"i,omitempty"`
	More int64    `json:"m,omitempty"`
	Undo *undo    `json:"u,omitempty"`
	// To is the path of the page that shows the result, if it is not the page of the form.
	To string `json:"-"`
}

// undo is the form that takes an action back.
type undo struct {
	Path   string            `json:"p"`
	Fields map[string]string `json:"f,omitempty"`
	IDs    []string          `json:"i,omitempty"`
}

const (
	doneCookie = "redrive_done"
	// doneKept is how long a browser has to show what an action did.
	doneKept = time.Minute
	doneMax  = 1 << 10
	// cookieMax is the largest size of a cookie that browsers keep, without its attributes.
	cookieMax = 3_800
)

// key returns the secret that all servers of the store share for signing, and makes it if there is
// none. Without it (the store cannot be reached) nothing is signed.
func (p *Pages) key(a *api.API, c *api.Call) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.secret == nil {
		fresh := make([]byte, sha256.Size)
		_, _ = rand.Read(fresh) // it never fails, see package crypto/rand
		if secret, err := a.Client().Secret(c.Context(), "page", fresh); err == nil {
			p.secret = secret
		}
	}
	return p.secret
}

func signature(key []byte, body string) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(body)) // a hash never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// tell gives the next page of the browser a message.
func (p *Pages) tell(a *api.API, c *api.Call, d done) {
	key := p.key(a, c)
	if key == nil {
		return
	}
	d.At = int64(job.At(a.Options().Now()))
	if len(d.Text) > doneMax {
		d.Text = strings.ToValidUTF8(d.Text[:doneMax], "") + "…"
	}
	for _, drop := range []func(){func() {}, func() { d.Undo = nil }, func() { d.More += int64(len(d.List)); d.List = nil }} {
		drop()
		b, err := json.Marshal(d)
		if err != nil {
			return
		}
		body := base64.RawURLEncoding.EncodeToString(b)
		if body += "." + signature(key, body); len(body) <= cookieMax {
			p.setDone(c, body, int(doneKept.Seconds()))
			return
		}
	}
}

func (p *Pages) setDone(c *api.Call, value string, age int) {
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // Secure behind TLS only: a plain server on loopback needs the cookie, too
		Name: doneCookie, Value: value, Path: p.o.Base + "/ui/", MaxAge: age, HttpOnly: true,
		Secure: c.R.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
}

// takeDone returns the message that the last action has left, once.
func (p *Pages) takeDone(a *api.API, c *api.Call) *done {
	cookie, err := c.R.Cookie(doneCookie)
	if err != nil || cookie.Value == "" {
		return nil
	}
	p.setDone(c, "", -1)
	body, sign, _ := strings.Cut(cookie.Value, ".")
	key := p.key(a, c)
	if key == nil || subtle.ConstantTimeCompare([]byte(sign), []byte(signature(key, body))) != 1 {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(body)
	var d done
	if err != nil || json.Unmarshal(b, &d) != nil || job.At(a.Options().Now()).Sub(job.Micros(d.At)) > doneKept {
		return nil
	}
	return &d
}
