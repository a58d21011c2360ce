package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
)

func TestNoticesComeBack(t *testing.T) {
	t.Parallel()
	var places Notice
	places.Add(12, 2, 1_700_000_000_000_000)
	places.Add(12, 2, 1_600_000_000_000_000)
	places.Add(12, 2, 1_800_000_000_000_000)
	places.Add(3, 4, -5)
	places.Signals = true
	for text, n := range map[string]Notice{
		"me|*": AnyChange, "me|s": {Signals: true}, "me|": {},
		"me|s,3.4@-5,12.2@1600000000000000": places,
	} {
		if got := n.Text("me"); got != text {
			t.Errorf("%q, want %q", got, text)
		}
		sender, back, err := ParseNotice(text)
		if d := cmp.Diff(n, back); d != "" || err != nil || sender != "me" {
			t.Errorf("%q: %q, %v\n%s", text, sender, err, d)
		}
	}
	for _, bad := range []string{"", "*", "me|x", "me|1@2", "me|1.2@", "me|1.500@2", "me|1.2.3@4"} {
		if _, n, err := ParseNotice(bad); err == nil {
			t.Errorf("%q is %+v", bad, n)
		}
	}
}

func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	var n Notice
	for lane := range int64(noticeMax) {
		n.Add(1_000+lane, 4, job.Micros(1_700_000_000_000_000))
	}
	if n.All || len(n.Text("abcdefghijkl")) >= 8_000 {
		t.Errorf("%d bytes of %d places", len(n.Text("")), len(n.Ready))
	}
	n.Add(1, 1, 1)
	if n.Add(2, 1, 1); !n.All || n.Ready != nil {
		t.Error("more places than a notification can name do not become AnyChange")
	}
	other := Notice{Signals: true}
	if other.Merge(n); !other.All {
		t.Error("all is lost")
	}
}

func FuzzParseNotice(f *testing.F) {
	f.Add("me|s,12.2@1600000000000000,3.4@-5")
	f.Add("0|*")
	f.Fuzz(func(t *testing.T, s string) {
		sender, n, err := ParseNotice(s)
		if err != nil {
			return
		}
		again, back, err := ParseNotice(n.Text(sender))
		if d := cmp.Diff(n, back); d != "" || err != nil || again != sender {
			t.Fatalf("%q: %v %s", s, err, d)
		}
	})
}
