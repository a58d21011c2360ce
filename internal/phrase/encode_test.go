package phrase

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/redrive/redrive/internal/scan"
)

func machineOf(t testing.TB, phrases ...string) *Machine {
	t.Helper()
	b, err := NewBuilder()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range phrases {
		if err := b.Add(p, i, true); err != nil {
			t.Fatal(err)
		}
	}
	return b.Freeze()
}

func TestDecode_FindsWhatTheMachineFinds(t *testing.T) {
	t.Parallel()
	m := machineOf(t, "rate limit exceeded", "(daily|monthly) quota", "lost ...3 connection !of", "error <number>", "<status> gateway", "waited <duration>")
	encoded := m.Encode()
	if again := m.Encode(); !bytes.Equal(again, encoded) {
		t.Error("the same machine is encoded as other bytes, want the same")
	}
	got, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"RateLimitExceeded", "the monthly quota", "lost the only connection", "lost connection of", "error 7", "502 gateway", "waited 7 s", "nothing"} {
		var a, b Matcher
		a.Run(m, text, scan.Tokens(nil, text))
		b.Run(got, text, scan.Tokens(nil, text))
		if !reflect.DeepEqual(a.Found, b.Found) {
			t.Errorf("%q: the decoded machine finds %v, want %v", text, b.Found, a.Found)
		}
	}
	for n := 0; n < len(encoded); n += 1 + len(encoded)/50 {
		if _, err := Decode(encoded[:n]); !errors.Is(err, ErrEncoding) {
			t.Fatalf("the first %d of %d bytes: got the error %v, want ErrEncoding", n, len(encoded), err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(machineOf(f, "rate limit exceeded", "error <number>").Encode()[:200])
	f.Add([]byte{0x02, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := Decode(b); err == nil && m == nil {
			t.Error("got neither a machine nor an error")
		}
	})
}
