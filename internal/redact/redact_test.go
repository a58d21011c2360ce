package redact_test

import (
	"testing"

	"github.com/redrive/redrive/internal/redact"
)

// What each option takes out and keeps.
func TestText_Options(t *testing.T) {
	t.Parallel()
	const text = "open /srv/in/clip.mp4 on 10.0.0.7 for eve@example.com with password=hunter22"
	for _, tt := range []struct {
		options *redact.Options
		want    string
	}{
		{nil, "open " + redact.Path + " on " + redact.IP + " for eve@example.com with password=" + redact.Secret},
		{&redact.Options{KeepPaths: true}, "open /srv/in/clip.mp4 on " + redact.IP + " for eve@example.com with password=" + redact.Secret},
		{&redact.Options{KeepAddresses: true}, "open " + redact.Path + " on 10.0.0.7 for eve@example.com with password=" + redact.Secret},
		{&redact.Options{Emails: true}, "open " + redact.Path + " on " + redact.IP + " for " + redact.Email + " with password=" + redact.Secret},
	} {
		got := redact.Text(text, tt.options)
		if got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.options, got, tt.want)
		}
		if again := redact.Text(got, tt.options); again != got {
			t.Errorf("%+v: a second time makes %q of %q", tt.options, again, got)
		}
	}
}

// The rest of a line whose beginning was cut off goes, and a name in JSON costs its value.
func TestOutputAndJSON(t *testing.T) {
	t.Parallel()
	tail := make([]byte, redact.OutputMax)
	for i := range tail {
		tail[i] = 'x'
	}
	copy(tail[100:], "\nfailed\n")
	if got := redact.Output(tail, nil); len(got) < 6 || string(got[:6]) != "failed" {
		t.Errorf("got %.20q, want the text from the second line on", got)
	}
	if got, want := string(redact.JSON([]byte(`{"api_key":7,"n":1.50}`), nil)), `{"api_key":"`+redact.Secret+`","n":1.50}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
