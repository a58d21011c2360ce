package access_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
)

// part of: X2
func TestX2_AKeyIsParsedAsItWasMade(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 200 {
		id, hash, key := access.NewKey()
		text := key.Reveal()
		got, _, err := access.ParseKey(text)
		if err != nil || got != id || len(hash) != store.KeyHash || len(text) != access.KeyLen || !strings.HasPrefix(text, "rdk_"+id+"_") {
			t.Fatalf("key %s: got the id %q and error %v, want %q", text, got, err, id)
		}
		if seen[id] || seen[text] {
			t.Fatalf("the key %s was made twice", text)
		}
		seen[id], seen[text] = true, true
	}
	id, hash, key := access.NewKey()
	other, rotated, err := access.RotatedKey(id)
	if got, _, parseErr := access.ParseKey(rotated.Reveal()); err != nil || parseErr != nil || got != id || bytes.Equal(hash, other) || rotated == key {
		t.Errorf("rotated key: got the id %q, errors %v and %v; want the same id and another secret", got, err, parseErr)
	}
	if _, _, err := access.RotatedKey("K1"); err == nil {
		t.Error("RotatedKey of an id that NewKey does not make: got no error")
	}
}

// part of: X2
//
// Each mistake of one character, each cut and each doubled character is found without the store.
func TestX2_MistypedKeysAreFound(t *testing.T) {
	t.Parallel()
	_, _, key := access.NewKey()
	text := key.Reveal()
	refuse := func(wrong string) {
		t.Helper()
		if _, _, err := access.ParseKey(wrong); wrong != text && !errors.Is(err, access.ErrKeyFormat) {
			t.Errorf("%q instead of %q: got error %v, want ErrKeyFormat", wrong, text, err)
		} else if err != nil && len(wrong) > len("rdk_") && strings.Contains(err.Error(), wrong) {
			t.Errorf("the error %q contains the key", err)
		}
	}
	for i := range text {
		for _, c := range "0aZ_-. \x00\xff" {
			refuse(text[:i] + string(c) + text[i+1:])
		}
		refuse(text[:i])
		refuse(text[:i] + text[i:i+1] + text[i:])
		if i > 0 { // two neighbours in the wrong order
			refuse(text[:i-1] + text[i:i+1] + text[i-1:i] + text[i+1:])
		}
	}
	refuse(strings.ToUpper(text))
	refuse("")
}

// part of: X2, F11
//
// Whatever a program prints or logs, it never shows a key.
func TestTrap40_AKeyIsNeverPrinted(t *testing.T) {
	t.Parallel()
	_, _, key := access.NewKey()
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("made", "key", key, "pointer", &key, "in", map[string]any{"key": key}, "struct", struct{ K access.Secret }{key})
	}
	encoded, err := json.Marshal(map[string]any{"key": key, "struct": struct{ K *access.Secret }{&key}})
	if err != nil {
		t.Fatal(err)
	}
	text := log.String() + string(encoded)
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%X", "%d", "%t", "% x", "%10s"} {
		text += fmt.Sprintf(verb, key) + fmt.Sprintf(verb, &key) + fmt.Sprintf(verb, []access.Secret{key}) + fmt.Sprintf(verb, struct{ K access.Secret }{key})
	}
	secret := key.Reveal()[15:30]
	if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) || !strings.Contains(text, "[secret]") {
		t.Errorf("the output has the secret:\n%s", text)
	}
}

// part of: X3
func FuzzX3_ParseKey(f *testing.F) {
	_, _, key := access.NewKey()
	f.Add(key.Reveal())
	f.Add("rdk_")
	f.Add("rdk_aaaaaaaaaa_" + strings.Repeat("0", 49))
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, err := access.ParseKey(text)
		if err != nil {
			if !errors.Is(err, access.ErrKeyFormat) || id != "" || secret != (access.Secret{}) {
				t.Errorf("%q: got %q and error %v, want ErrKeyFormat alone", text, id, err)
			}
			return
		}
		if len(text) != access.KeyLen || text[4:14] != id || text[15:58] != secret.Reveal() {
			t.Errorf("%q: got the id %q, want the parts of the text", text, id)
		}
	})
}

// part of: X2
func TestX2_RightsThatContradictAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  store.AccessKey
		want string // the field with the mistake; "" means that the key is allowed
	}{
		{store.AccessKey{Roles: []string{"administer"}}, ""},
		{store.AccessKey{Roles: []string{"submit", "work"}, Kinds: []string{"a"}, Queues: []string{"b"}}, ""},
		{store.AccessKey{Roles: []string{"submit"}, Owner: "ann"}, ""},
		{store.AccessKey{Roles: []string{"submit", "view"}, Delegate: true}, ""},
		{store.AccessKey{}, "roles"},
		{store.AccessKey{Roles: []string{"veiw"}}, "roles"},
		{store.AccessKey{Roles: []string{"view", "view"}}, "roles"},
		{store.AccessKey{Roles: []string{"submit", "view"}, Owner: "ann"}, "owner"},
		{store.AccessKey{Roles: []string{"work"}, Owner: "ann"}, "owner"},
		{store.AccessKey{Roles: []string{"submit"}, Owner: "ann", Delegate: true}, "delegate"},
		{store.AccessKey{Roles: []string{"view"}, Delegate: true}, "delegate"},
		{store.AccessKey{Roles: []string{"submit", "operate"}, Kinds: []string{"a"}}, "kinds"},
		{store.AccessKey{Roles: []string{"view"}, Queues: []string{"a"}}, "queues"},
	} {
		err := access.CheckGrant(&c.key)
		wrong, _ := errors.AsType[*access.GrantError](err)
		if (err == nil) != (c.want == "") || err != nil && wrong.Field != c.want {
			t.Errorf("%+v: got error %v, want a mistake in %q", c.key, err, c.want)
		}
	}
	err := access.CheckGrant(&store.AccessKey{Roles: []string{"veiw"}})
	if want := `did you mean "view"?`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("unknown role: got error %v, want it to ask %s", err, want)
	}
}
