package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/job"
)

func TestNewsComeBack(t *testing.T) {
	t.Parallel()
	var places news
	places.add(12, 2, 1_700_000_000_000_000)
	places.add(12, 2, 1_600_000_000_000_000)
	places.add(12, 2, 1_800_000_000_000_000)
	places.add(3, 4, -5)
	places.signals = true
	for text, n := range map[string]news{
		"me|*": allNews, "me|s": {signals: true}, "me|": {},
		"me|s,3.4@-5,12.2@1600000000000000": places,
	} {
		if got := n.text("me"); got != text {
			t.Errorf("%q, want %q", got, text)
		}
		sender, back, err := parseNews(text)
		if d := cmp.Diff(n, back, cmp.AllowUnexported(news{}, readyPlace{})); d != "" || err != nil || sender != "me" {
			t.Errorf("%q: %q, %v\n%s", text, sender, err, d)
		}
	}
	for _, bad := range []string{"", "*", "me|x", "me|1@2", "me|1.2@", "me|1.500@2", "me|1.2.3@4"} {
		if _, n, err := parseNews(bad); err == nil {
			t.Errorf("%q is %+v", bad, n)
		}
	}
}

func TestNewsAreBounded(t *testing.T) {
	t.Parallel()
	var n news
	for lane := range int64(newsMax) {
		n.add(1_000+lane, 4, job.Micros(1_700_000_000_000_000))
	}
	if n.all || len(n.text("abcdefghijkl")) >= 8_000 {
		t.Errorf("%d bytes of %d places", len(n.text("")), len(n.ready))
	}
	n.add(1, 1, 1)
	if n.add(2, 1, 1); !n.all || n.ready != nil {
		t.Error("more places than a notification can name are not told as all")
	}
	other := news{signals: true}
	if other.merge(n); !other.all {
		t.Error("all is lost")
	}
}

func FuzzParseNews(f *testing.F) {
	f.Add("me|s,12.2@1600000000000000,3.4@-5")
	f.Add("0|*")
	f.Fuzz(func(t *testing.T, s string) {
		sender, n, err := parseNews(s)
		if err != nil {
			return
		}
		again, back, err := parseNews(n.text(sender))
		if d := cmp.Diff(n, back, cmp.AllowUnexported(news{}, readyPlace{})); d != "" || err != nil || again != sender {
			t.Fatalf("%q: %v %s", s, err, d)
		}
	})
}
