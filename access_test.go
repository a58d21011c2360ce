package redrive_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/redrive/redrive"
)

// Two clients are two servers on one store: both see a key at once, and share a secret.
//
// part of: X2
func TestX2_KeysAndSecretsAreSharedByAllClients(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		var clients [2]*redrive.Client
		for i := range clients {
			c, err := redrive.New(d.open(), &redrive.Config{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			clients[i] = c
		}
		by := redrive.By{Actor: "ann", Via: "command line"}
		k := redrive.AccessKey{ID: "k1", Name: "team ocr", Hash: make([]byte, 32), Roles: []string{"submit"}}
		stored, err := clients[0].PutKey(t.Context(), by, k)
		if err != nil || stored.Version != 1 || stored.CreatedBy != "ann" {
			t.Fatalf("PutKey: got %+v, error %v; want version 1 by ann", stored, err)
		}
		if err := clients[1].UsedKeys(t.Context(), []string{"k1"}); err != nil {
			t.Fatal(err)
		}
		list, err := clients[1].AccessKeys(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != "k1" || list[0].UsedAt == 0 {
			t.Fatalf("AccessKeys of the other client: got %+v, error %v; want the key k1, used", list, err)
		}
		stored.RevokedAt = 1
		if _, err := clients[1].PutKey(t.Context(), by, stored); err != nil {
			t.Fatal(err)
		}
		stored.RevokedAt, stored.Name = 0, "again"
		if _, err := clients[0].PutKey(t.Context(), by, stored); !errors.Is(err, redrive.ErrConflict) {
			t.Errorf("PutKey of a key that the other client has revoked: got error %v, want ErrConflict", err)
		}
		a, err := clients[0].Secret(t.Context(), "login", bytes.Repeat([]byte{1}, 32))
		if err != nil {
			t.Fatal(err)
		}
		b, err := clients[1].Secret(t.Context(), "login", bytes.Repeat([]byte{2}, 32))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("Secret of the two clients: got %x and %x, error %v; want the same bytes", a, b, err)
		}
		page, err := clients[0].Audit(t.Context(), redrive.AuditFilter{Actions: []string{"access."}})
		if err != nil || len(page.Entries) != 2 || page.Entries[0].Via != "command line" {
			t.Errorf("Audit: got %+v, error %v; want two entries, with the way of the person", page.Entries, err)
		}
	})
}
