package main

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/store"
)

const (
	sessionTime = 12 * time.Hour
	hashRounds  = 600_000 // of PBKDF2 with SHA-256
)

// addAccount makes an account unless there is one with the address.
func (a *app) addAccount(ctx context.Context, id, name, email, password string) error {
	var there int
	err := a.db.QueryRowContext(ctx, `SELECT count(*) FROM accounts WHERE email = ?`, email).Scan(&there)
	if err != nil || there > 0 {
		return err
	}
	salt := make([]byte, 16)
	rand.Read(salt) //nolint:errcheck // it never fails
	hash, err := pbkdf2.Key(sha256.New, password, salt, hashRounds, sha256.Size)
	if err != nil {
		return err
	}
	return a.tx(ctx, func(ctx context.Context, tx *sql.Tx, _ store.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO accounts (id, name, email, password_hash, salt) VALUES (?, ?, ?, ?, ?)`, id, name, email, hash, salt)
		return err
	})
}

func (s *site) login(w http.ResponseWriter, r *http.Request) error {
	var id string
	var hash, salt []byte
	err := s.db.QueryRowContext(r.Context(), `SELECT id, password_hash, salt FROM accounts WHERE email = ?`, r.FormValue("email")).Scan(&id, &hash, &salt)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	got, err := pbkdf2.Key(sha256.New, r.FormValue("password"), salt, hashRounds, sha256.Size)
	if err != nil {
		return err
	}
	if id == "" || subtle.ConstantTimeCompare(hash, got) != 1 {
		return refuse(http.StatusUnauthorized, "The address or the password is wrong.")
	}
	value := id + "." + strconv.FormatInt(time.Now().Add(sessionTime).Unix(), 10)
	http.SetCookie(w, cookie("session", value+"."+s.sign(value), int(sessionTime.Seconds())))
	return s.to(w, r, "/campaigns", "")
}

func (s *site) logout(w http.ResponseWriter, r *http.Request, _ *account) error {
	http.SetCookie(w, cookie("session", "", -1))
	return s.to(w, r, "/", "")
}

func (s *site) sign(value string) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(value))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// caller returns the account of a request, or nil without a valid cookie.
func (s *site) caller(r *http.Request) (*account, error) {
	c, err := r.Cookie("session")
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // nobody has logged in
	}
	at := strings.LastIndexByte(c.Value, '.')
	if at < 0 || !hmac.Equal([]byte(c.Value[at+1:]), []byte(s.sign(c.Value[:at]))) {
		return nil, nil //nolint:nilnil // as above
	}
	id, until, _ := strings.Cut(c.Value[:at], ".")
	if end, err := strconv.ParseInt(until, 10, 64); err != nil || time.Now().Unix() >= end {
		return nil, nil //nolint:nilnil,nilerr // as above
	}
	p := &account{ID: id}
	err = s.db.QueryRowContext(r.Context(), `SELECT name, email FROM accounts WHERE id = ?`, id).Scan(&p.Name, &p.Email)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // as above
	}
	return p, err
}
