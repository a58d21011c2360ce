package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
)

// stage has campaigns in each state, with tokens in each state that is possible in them.
type stage struct {
	*rig
	ben    *player
	paths  map[string]string            // of campaigns, by their state
	tokens map[string]map[string]string // by the state of the campaign and their own
}

func newStage(t *testing.T) *stage {
	t.Helper()
	r := newRig(t, "")
	s := &stage{r, r.login("ben"), map[string]string{"unknown": "/campaigns/NOBODY"}, map[string]map[string]string{}}
	good, bad, held := r.asset(r.ann, "good.mp4", "good"), r.asset(r.ann, "bad.mp4", "broken"), r.asset(r.ann, "hold.mp4", "hold")
	release := r.hold(held)
	s.campaign(r.ann, "DRAFT", good, "draft", good)
	s.campaign(r.ann, "PARTIAL", good, "completed", good, "dead", bad)
	r.post(r.ann, s.paths["PARTIAL"]+"/publish")
	s.paths["EXPIRED"] = r.newCampaign(r.ann, good, "expires_at", "2026-03-01T10:00")
	s.add("EXPIRED", r.ann, "completed", good, "dead", bad)
	r.post(r.ann, s.paths["EXPIRED"]+"/publish")
	s.campaign(s.ben, "another's", r.asset(s.ben, "bad.mp4", "broken"), "dead", "")
	r.post(s.ben, s.paths["another's"]+"/publish")
	r.work()
	r.advance(2 * time.Hour)
	s.campaign(r.ann, "PROCESSING", good, "completed", good, "dead", bad, "running", held, "waiting", good)
	r.post(r.ann, s.paths["PROCESSING"]+"/publish")
	r.running(s.tokens["PROCESSING"]["running"]) // there is one worker, so the last token waits
	t.Cleanup(release)
	return s
}

// campaign makes a campaign with recipients, which are names and assets in turns.
func (s *stage) campaign(p *player, state, asset string, recipients ...string) {
	s.Helper()
	s.paths[state] = s.newCampaign(p, asset)
	s.add(state, p, recipients...)
}

func (s *stage) add(state string, p *player, recipients ...string) {
	s.Helper()
	s.tokens[state] = map[string]string{}
	for i := 0; i < len(recipients); i += 2 {
		s.tokens[state][recipients[i]] = s.rig.add(p, s.paths[state], recipients[i], recipients[i+1])
	}
}

// Every state of a campaign with every state of a token.
//
// proves: B5
func TestB5_RetryOfATokenInEachState(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const notFound, notFailed, expired = "404 Not found.", "400 Token is not in a failed state.", "400 Campaign has expired."
	for _, c := range []struct{ campaign, of, token, want string }{
		{"unknown", "PARTIAL", "dead", notFound},
		{"unknown", "", "nobody", notFound},
		{"another's", "another's", "dead", notFound},
		{"another's", "PARTIAL", "dead", notFound},
		{"PARTIAL", "", "nobody", notFound},
		{"PARTIAL", "EXPIRED", "dead", notFound}, // it belongs to another campaign
		{"PARTIAL", "another's", "dead", notFound},
		{"DRAFT", "DRAFT", "draft", notFailed},
		{"PROCESSING", "PROCESSING", "waiting", notFailed},
		{"PROCESSING", "PROCESSING", "running", notFailed},
		{"PROCESSING", "PROCESSING", "completed", notFailed},
		{"PARTIAL", "PARTIAL", "completed", notFailed},
		{"EXPIRED", "EXPIRED", "completed", notFailed},
		{"EXPIRED", "EXPIRED", "dead", expired},
		{"PROCESSING", "PROCESSING", "dead", "303 " + s.paths["PROCESSING"]},
		{"PROCESSING", "PROCESSING", "dead", notFailed}, // the second click
		{"PARTIAL", "PARTIAL", "dead", "303 " + s.paths["PARTIAL"]},
		{"PARTIAL", "PARTIAL", "dead", notFailed},
	} {
		token, state := "NOBODY", job.None
		if c.of != "" {
			token = s.tokens[c.of][c.token]
			state = s.stateOf(token)
		}
		a, err := s.ann.post(t.Context(), s.paths[c.campaign]+"/tokens/"+token+"/retry")
		s.must(err)
		got := fmt.Sprintf("%d %s", a.status, strings.TrimSpace(a.body))
		if a.status == http.StatusSeeOther {
			got = fmt.Sprintf("%d %s", a.status, a.head.Get("Location"))
		}
		if got != c.want {
			t.Errorf("campaign %s, token %s of %s: got the answer %q, want %q", c.campaign, c.token, c.of, got, c.want)
		}
		if a.status != http.StatusSeeOther && c.of != "" && s.stateOf(token) != state {
			t.Errorf("campaign %s, token %s of %s: the refused retry has changed the job from %s to %s", c.campaign, c.token, c.of, state, s.stateOf(token))
		}
	}
	page, err := s.ann.get(t.Context(), s.paths["PARTIAL"])
	s.must(err)
	if !strings.Contains(page.text(), "Retry queued for dead.") || !strings.Contains(page.body, `class="badge state-PROCESSING"`) {
		t.Errorf("the page after the retry: got %s, want PROCESSING and what was done", page.text())
	}
	if a, err := (&player{s.server.URL, http.DefaultClient}).post(t.Context(), s.paths["PARTIAL"]+"/publish"); err != nil || a.status != http.StatusUnauthorized {
		t.Errorf("publish without a login: got %d, error %v; want 401", a.status, err)
	}
}

// stateOf returns the state of the job of a token, None for a draft.
func (s *stage) stateOf(token string) job.State {
	s.Helper()
	jobs, err := s.client.GetAll(s.Context(), []job.ID{s.jobOf(token)})
	s.must(err)
	if len(jobs) == 0 {
		return job.None
	}
	return jobs[0].State
}

// proves: B5
func TestB5_TwentyClicksAtOnceAreOneLife(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	path := r.newCampaign(r.ann, r.asset(r.ann, "bad.mp4", "broken"))
	token := r.add(r.ann, path, "Zoe", "")
	r.post(r.ann, path+"/publish")
	r.work()
	for range 3 {
		const clicks = 20
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		for range clicks {
			all.Go(func() {
				a, err := r.ann.post(t.Context(), path+"/tokens/"+token+"/retry")
				mu.Lock()
				defer mu.Unlock()
				got[fmt.Sprintf("%d %s%v", a.status, strings.TrimSpace(a.body), err)]++
			})
		}
		all.Wait()
		if len(got) != 2 || got["303 <nil>"] != 1 || got["400 Token is not in a failed state.<nil>"] != clicks-1 {
			t.Errorf("got the answers %v, want one 303 and %d times the 400", got, clicks-1)
		}
		r.work()
	}
	if j, _ := r.job(token); j.Life != 4 || j.Token != 4 || j.State != job.Dead {
		t.Errorf("after three rounds: got life %d, %d executions, %s; want life 4 with 4 executions, dead", j.Life, j.Token, j.State)
	}
	b, err := r.client.BatchHandle(1).Get(t.Context())
	if err != nil || b.Outcome != 4 {
		t.Errorf("got %d outcomes, error %v; want 4: each round ends the campaign once", b.Outcome, err)
	}
}

// Publishing again makes jobs of new recipients and retries dead ones; what is completed stays.
//
// proves: B4
func TestB4_PublishAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "")
	bad := r.asset(r.ann, "bad.mp4", "broken")
	path := r.newCampaign(r.ann, r.asset(r.ann, "good.mp4", "good"))
	if a, err := r.ann.post(t.Context(), path+"/publish"); err != nil || a.status != 400 || a.body != "Campaign has no recipients.\n" {
		t.Errorf("publish without recipients: got %d %q, error %v; want the 400", a.status, a.body, err)
	}
	tokens := map[string]string{"Ann": r.add(r.ann, path, "Ann", ""), "Bob": r.add(r.ann, path, "Bob", bad)}
	r.post(r.ann, path+"/publish")
	r.work()
	tokens["Cid"] = r.add(r.ann, path, "Cid", "")
	r.post(r.ann, path+"/tokens", "recipients", "Ann\nBob\n\nCid") // they are there already
	r.file(r.dir+"/assets/"+bad+".mp4", "mended")
	for range 2 { // the second time there is nothing to do
		r.post(r.ann, path+"/publish")
		r.work()
	}
	b, err := r.client.BatchHandle(1).Get(t.Context())
	if err != nil || b.State != job.BatchReady || b.Total != 3 || b.Completed != 3 || b.Outcome != 2 {
		t.Errorf("got %+v, error %v; want READY with 3 members after 2 outcomes", b, err)
	}
	for name, want := range map[string]job.Token{"Ann": 1, "Bob": 2, "Cid": 1} {
		if j, _ := r.job(tokens[name]); j.Token != want || j.State != job.Completed {
			t.Errorf("%s: got %d executions, %s; want %d, completed", name, j.Token, j.State, want)
		}
	}
}
