package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
)

func (a *API) now() job.Micros { return job.At(a.o.Now()) }

func (a *API) listKeys(c *Call) error {
	list, err := a.client.AccessKeys(c.Context())
	if err != nil {
		return fmt.Errorf("list access keys: %w", err)
	}
	return c.JSON(http.StatusOK, KeyList{Items: wire.AccessKeysOf(list, a.now())})
}

func (a *API) createKey(c *Call) error {
	var in KeyIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	id, hash, key := access.NewKey()
	k := store.AccessKey{ID: id, Hash: hash, Name: in.Name, Roles: in.Roles, Owner: in.Owner, Kinds: in.Kinds, Queues: in.Queues, Delegate: in.Delegate}
	var wrong []Mistake
	if in.ExpiresAt != "" {
		at, err := human.ParseTimeIn(time.UTC, in.ExpiresAt, a.o.Now(), false)
		switch {
		case err != nil:
			wrong = append(wrong, Mistake{Pointer: "/expires_at", Detail: err.Error()})
		case !at.After(a.o.Now()):
			wrong = append(wrong, Mistake{Pointer: "/expires_at", Detail: "the time must be in the future"})
		}
		k.ExpiresAt = job.At(at)
	}
	if in.Name == "" || len(in.Name) > job.TextMax {
		wrong = append(wrong, Mistake{Pointer: "/name", Detail: fmt.Sprintf("a key has a name of 1 to %d bytes", job.TextMax), Bound: job.TextMax})
	}
	if err := access.CheckGrant(&k); err != nil {
		grant, _ := errors.AsType[*access.GrantError](err)
		wrong = append(wrong, Mistake{Pointer: "/" + grant.Field, Detail: grant.Detail})
	}
	if len(wrong) > 0 {
		return InvalidField.Mistaken(wrong...)
	}
	stored, err := a.client.PutKey(c.Context(), c.By(in.Note), k)
	if err != nil {
		return fmt.Errorf("create an access key: %w", err)
	}
	a.keysChanged()
	return c.JSON(http.StatusCreated, wire.NewAccessKey{Key: wire.AccessKeyOf(&stored, a.now()), Secret: key.Reveal()})
}

func (a *API) revokeKey(c *Call) error {
	var in KeyNote
	if err := c.Read(&in, true); err != nil {
		return err
	}
	k, err := a.keyInPath(c)
	if err != nil {
		return err
	}
	k.RevokedAt = a.now()
	stored, err := a.client.PutKey(c.Context(), c.By(in.Note), k)
	if err != nil {
		return fmt.Errorf("revoke an access key: %w", err)
	}
	a.keysChanged()
	return c.JSON(http.StatusOK, wire.AccessKeyOf(&stored, a.now()))
}

func (a *API) rotateKey(c *Call) error {
	var in KeyRotation
	if err := c.Read(&in, true); err != nil {
		return err
	}
	keep := keepOldDefault
	if in.KeepOldMS != nil {
		if *in.KeepOldMS < 0 || *in.KeepOldMS > store.KeyKeepMax.Milliseconds() {
			return InvalidField.Mistaken(Mistake{Pointer: "/keep_old_ms", Detail: fmt.Sprintf("must be 0 to %d", store.KeyKeepMax.Milliseconds()), Bound: store.KeyKeepMax.Milliseconds()})
		}
		keep = time.Duration(*in.KeepOldMS) * time.Millisecond
	}
	k, err := a.keyInPath(c)
	if err != nil {
		return err
	}
	hash, key, err := access.RotatedKey(k.ID)
	if err != nil {
		return InvalidField.New("%s; it was not made by redrive and cannot be rotated", err)
	}
	k.Hash, k.KeepOld = hash, keep
	stored, err := a.client.PutKey(c.Context(), c.By(in.Note), k)
	if err != nil {
		return fmt.Errorf("rotate an access key: %w", err)
	}
	a.keysChanged()
	return c.JSON(http.StatusCreated, wire.NewAccessKey{Key: wire.AccessKeyOf(&stored, a.now()), Secret: key.Reveal()})
}

// keyInPath returns the key that the path names.
func (a *API) keyInPath(c *Call) (store.AccessKey, error) {
	list, err := a.client.AccessKeys(c.Context())
	if err != nil {
		return store.AccessKey{}, fmt.Errorf("read the access keys: %w", err)
	}
	for _, k := range list {
		if k.ID == c.R.PathValue("id") {
			return k, nil
		}
	}
	return store.AccessKey{}, NotFound.New("key %.80q: there is no such key", c.R.PathValue("id"))
}

// keysChanged lets this server use changed keys at once. Other servers do within a second.
func (a *API) keysChanged() {
	if a.o.Gate != nil {
		a.o.Gate.Changed()
	}
}

func (a *API) login(c *Call) error {
	var in LoginIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	switch {
	case a.o.Gate == nil:
		return NotFound.New("The program that this server is a part of has its own login.")
	case len(in.Key) > keyTextMax:
		return access.ErrUnauthenticated
	}
	caller, err := a.o.Gate.Login(c.W, c.R, in.Key)
	if err != nil {
		return err //nolint:wrapcheck // the errors of package access have their problems
	}
	return c.JSON(http.StatusOK, whoIs(&caller))
}

func (a *API) logout(c *Call) error {
	if a.o.Gate == nil {
		return NotFound.New("The program that this server is a part of has its own login.")
	}
	a.o.Gate.Logout(c.W, c.R)
	c.W.WriteHeader(http.StatusNoContent)
	return nil
}
