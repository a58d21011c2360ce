package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redrive/redrive"
)

// campaign publishes a batch of n members that die, and one that completes, and waits until it has ended.
func (s *site) campaign(n int) *redrive.BatchHandle {
	s.t.Helper()
	close(s.holds)
	by := redrive.By{Actor: "mira"}
	h, err := s.client.NewBatch(s.t.Context(), by, redrive.BatchSpec{Name: canary, Owner: "studio"})
	specs := []redrive.Spec{held.New(nil, &redrive.Options{Key: "fine"})}
	for i := range n {
		specs = append(specs, render.New(map[string]any{"n": i}, &redrive.Options{Key: fmt.Sprintf("recipient %d", i+1)}))
	}
	if err == nil {
		_, err = h.Add(s.t.Context(), specs...)
	}
	if err == nil {
		_, err = h.Publish(s.t.Context(), by)
	}
	if err == nil {
		_, err = h.Wait(s.t.Context(), 0)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

// proves: U2
//
// From the click on retry to the badge READY without a reload: badge, banner, counts and buttons change. A
// second operator who clicks on the same member makes no second life and reads why.
func TestU2_ABatchIsMendedOnItsPage(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *site) {
		h := s.campaign(4)
		path := fmt.Sprintf("/batches/%d", h.ID())
		first, second := s.newTab(1440, 900), s.newTab(1024, 800)
		first.open("/batches")
		first.until("1 batch ended in part")
		first.run(chromedp.Click(chromedp.CSS(`#rows .st.partial`)))
		first.until("Warning: 4 jobs failed permanently. Use the retry buttons below to re-attempt individual members.")
		first.until("Live")
		first.shot("flow-batch-partial")
		second.open(path)
		second.until("Live")
		second.press("Pause")
		second.until("Paused since")
		s.setMended(true)
		first.run(chromedp.DoubleClick(chromedp.CSS(`#dead-members form[action$=member] button`)))
		first.until("Retry queued for recipient 1.")
		first.until("Warning: 3 jobs failed permanently.")
		second.run(chromedp.Click(chromedp.CSS(`#dead-members form[action$=member] button`)))
		second.until("Nothing was done: Member is not in a failed state.")
		m, err := h.Member(t.Context(), "recipient 1")
		if err != nil || m.Life != 2 {
			t.Errorf("got life %d and %v, want one retry", m.Life, err)
		}
		first.until("Live")
		first.press("Retry 3 dead…")
		first.until("Before it goes")
		first.press("Retry 3")
		first.until("3 members retried.")
		first.until("READY")
		first.until("5 of 5 members completed")
		first.holds(`!document.querySelector("#banner .banner")`)
		first.shot("flow-batch-ready")
	})
}
