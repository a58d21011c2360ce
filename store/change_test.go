package store_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/store"
)

// The JSON text of a change in the audit log shows what was changed. It shows only the size and the
// start of the hash of a payload.
//
// part of: Q9
func TestQ9_ChangeAsTheAuditHasIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		c    store.Change
		want string
	}{
		{store.Change{}, `{}`},
		{store.Change{Queue: "night", Priority: 3, Delay: new(time.Minute)}, `{"queue":"night","priority":3,"delay":"1m0s"}`},
		{store.Change{Priority: 4, Once: true}, `{"priority":4,"once":true}`},
		{store.Change{Once: true}, `{}`},
		{store.Change{Override: []byte(`{"a": 1}`)}, `{"policy":{"a":1}}`},
		{store.Change{Override: []byte{}}, `{"policy":null}`},
		{store.Change{Override: []byte("\xffno")}, `{"policy":"ff6e6f"}`},
		{store.Change{Payload: []byte{}}, `{"payload":{"bytes":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb924"}}`},
	} {
		got, err := json.Marshal(tt.c)
		if err != nil || string(got) != tt.want {
			t.Errorf("JSON of the change %+v: got %s, error %v; want %s", tt.c, got, err, tt.want)
		}
	}
	plain := store.Change{}
	if got := plain.AuditRetry(); got != "waiting" {
		t.Errorf("audit row of a retry that changes nothing: got %s, want waiting", got)
	}
	secret := store.Change{Payload: []byte("password")}
	if got := secret.AuditRetry(); strings.Contains(got, "password") || !json.Valid([]byte(got)) {
		t.Errorf("audit row of a retry with another payload: got %s, want valid JSON without the payload", got)
	}
}
