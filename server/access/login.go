package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// LoginFor is how long a login by a key lasts.
const LoginFor = 12 * time.Hour

// Names of the login cookie. Browsers accept a cookie with the prefix __Host- over TLS only, and
// only from this host.
const (
	cookieName    = "redrive_login"
	cookieNameTLS = "__Host-" + cookieName
	cookieMax     = 200 // maximum length of the value of the cookie, in characters
)

// logins makes and checks login cookies. A cookie has the id of a key, the time of the login, and
// a signature by a secret that all servers on the store share; the signature also covers the hash
// of the key's secret, so that a login ends when this secret does.
type logins struct {
	store Store
	mu    sync.Mutex
	bytes []byte // the secret of the installation; nil until it was read
}

func (l *logins) secret(ctx context.Context) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes == nil {
		fresh := make([]byte, sha256.Size)
		_, _ = rand.Read(fresh) // rand.Read never returns an error
		secret, err := l.store.Secret(ctx, "login", fresh)
		if err != nil {
			return nil, fmt.Errorf("read the secret of logins: %w", err)
		}
		l.bytes = secret
	}
	return l.bytes, nil
}

// sign returns the signature of a login.
func sign(secret []byte, id string, at int64, hash []byte) []byte {
	m := hmac.New(sha256.New, secret)
	fmt.Fprintf(m, "redrive login 1\n%s\n%d\n%x", id, at, hash)
	return m.Sum(nil)
}

// value returns the value of the cookie for a login at a time.
func (l *logins) value(ctx context.Context, id string, hash []byte, at time.Time) (string, error) {
	secret, err := l.secret(ctx)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{id, strconv.FormatInt(at.Unix(), 10), base64.RawURLEncoding.EncodeToString(sign(secret, id, at.Unix(), hash))}, "."), nil
}

// check returns the key of a login cookie.
func (l *logins) check(ctx context.Context, all *keyCopy, value string, now time.Time) (*store.AccessKey, error) {
	if len(value) > cookieMax {
		return nil, ErrUnauthenticated
	}
	parts := strings.Split(value, ".")
	if len(parts) != 3 {
		return nil, ErrUnauthenticated
	}
	at, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || strconv.FormatInt(at, 10) != parts[1] {
		return nil, ErrUnauthenticated
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil {
		return nil, ErrUnauthenticated
	}
	secret, err := l.secret(ctx)
	if err != nil {
		return nil, err
	}
	key, found := all.byID[parts[0]]
	if !found {
		key = &unknownKey
	}
	is := hmac.Equal(signature, sign(secret, parts[0], at, key.Hash))
	was := len(key.OldHash) > 0 && job.At(now) < key.OldUntil && hmac.Equal(signature, sign(secret, parts[0], at, key.OldHash))
	age := now.Sub(time.Unix(at, 0))
	if !found || !is && !was || age >= LoginFor || age < -time.Minute || key.Ended(job.At(now)) > 0 {
		return nil, ErrUnauthenticated
	}
	return key, nil
}

// cookie returns the login cookie with a value; an empty value makes the browser forget it.
func cookie(value string, tls bool) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: value, Path: "/", MaxAge: int(LoginFor.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if tls {
		c.Name, c.Secure = cookieNameTLS, true
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}
