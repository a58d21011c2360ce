package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// collect reads events until one has the name, and returns what a test compares.
func (r *rig) collect(stream <-chan push, until string) (got []string, last string) {
	r.Helper()
	err := await(r.Context(), stream, until, func(e *push) bool {
		text := e.name
		switch e.name {
		case "token":
			text += " " + e.text("status")
		case "token_failed":
			text += " " + e.text("error")
		case "campaign":
			text += fmt.Sprintf(" %s %d %d", e.text("state"), e.number("completed"), e.number("dead"))
		}
		if e.id != "" {
			last = e.id
		}
		got = append(got, text)
		return text == until
	})
	r.must(err)
	return got, last
}

// A page follows its campaign, one token or several; who comes back gets what was missed.
//
// part of: N1, U2
func TestN1_TokenFailedOnBothTopics_U2(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	path := r.newCampaign(r.ann, r.asset(r.ann, "good.mp4", "good"))
	bad := r.asset(r.ann, "bad.mp4", "broken")
	token := r.add(r.ann, path, "Zoe", bad)
	other := r.add(r.ann, path, "Yan", bad)
	id := strings.TrimPrefix(path, "/campaigns/")
	whole, err := r.ann.listen(t.Context(), "", "campaign:"+id)
	r.must(err)
	single, err := r.ann.listen(t.Context(), "", "token:"+token, "token:"+token)
	r.must(err)
	r.post(r.ann, path+"/publish")
	r.work()
	const failed = "token_failed The file is damaged or is not a video. Please upload it again."
	got, last := r.collect(whole, "campaign FAILED 0 2")
	if n := count(got, failed); n != 2 || last == "" {
		t.Errorf("the campaign's stream: got %q, last id %q; want two failures and an id", got, last)
	}
	got, _ = r.collect(single, failed)
	if count(got, "token FAILED") != 1 {
		t.Errorf("the token's stream: got %q; want one token that has failed", got)
	}
	// The connection is lost, a retry fails again, and the page comes back.
	r.post(r.ann, path+"/tokens/"+other+"/retry")
	r.advance(time.Minute)
	r.work()
	back, err := r.ann.listen(t.Context(), last, "campaign:"+id)
	r.must(err)
	if got, _ := r.collect(back, "campaign FAILED 0 2"); count(got, failed) != 1 {
		t.Errorf("after the connection was lost: got %q; want the one failure that was missed", got)
	}
	for _, c := range []struct {
		who   *player
		topic string
		want  int
	}{
		{r.login("ben"), "campaign:" + id, http.StatusNotFound},
		{r.login("ben"), "token:" + token, http.StatusNotFound},
		{r.ann, "token:NOBODY", http.StatusNotFound},
		{r.ann, "all", http.StatusBadRequest},
		{r.ann, "", http.StatusBadRequest},
		{&player{r.server.URL, http.DefaultClient}, "campaign:" + id, http.StatusUnauthorized},
	} {
		if a, err := c.who.get(t.Context(), "/events?topic="+c.topic); err != nil || a.status != c.want {
			t.Errorf("topic %q: got %d %s, error %v; want %d", c.topic, a.status, a.body, err, c.want)
		}
	}
}

func count(all []string, wanted string) (n int) {
	for _, text := range all {
		if text == wanted {
			n++
		}
	}
	return n
}
