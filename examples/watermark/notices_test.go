package main

import (
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/deliver"
)

// The mails have W's subjects, in the singular where there is one copy, and the campaign's page.
//
// part of: N2
func TestN2_TextsOfTheMails(t *testing.T) {
	t.Parallel()
	folder, err := fs.Sub(mailTexts, "mails")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := deliver.NewTemplates(folder)
	if err != nil {
		t.Fatal(err)
	}
	batch := func(total, completed, dead int64) *notify.BatchFacts {
		return &notify.BatchFacts{ID: "7", Name: "Spring", Total: total, Completed: completed, Dead: dead,
			Attrs: map[string]string{"owner_name": "Ann", "page": "https://w.example.com/campaigns/X"}}
	}
	died := &notify.JobFacts{ID: "42", Key: "T", Message: "The file is damaged.", Attrs: map[string]string{"recipient": "Bob"}}
	for _, tt := range []struct {
		on    notify.Event
		facts notify.Facts
		want  string
	}{
		{notify.MemberDead, notify.Facts{Batch: batch(2, 1, 1), Job: died}, "Spring: the copy for Bob failed"},
		{notify.BatchPartial, notify.Facts{Batch: batch(50, 46, 4)}, "Spring: 46 of 50 copies are ready, 4 failed"},
		{notify.BatchFailed, notify.Facts{Batch: batch(3, 0, 3)}, "Spring: all 3 copies failed"},
		{notify.BatchFailed, notify.Facts{Batch: batch(1, 0, 1)}, "Spring: the only copy failed"},
		{notify.BatchReady, notify.Facts{Batch: batch(50, 50, 0)}, "Spring: all 50 copies are ready"},
		{notify.BatchReady, notify.Facts{Batch: batch(1, 1, 0)}, "Spring: the only copy is ready"},
		{notify.Digest, notify.Facts{Batch: batch(50, 10, 40), Digest: &notify.DigestFacts{N: 40, Items: []notify.JobFacts{*died}, More: 39}}, "Spring: 40 copies failed"},
	} {
		subject, text, _, err := texts.Render(&notify.Notice{V: 1, On: tt.on, To: "ann@example.com", Facts: tt.facts})
		if err != nil {
			t.Errorf("%s: %v", tt.on, err)
			continue
		}
		if subject != tt.want || !strings.Contains(text, "Hello Ann,") || !strings.Contains(text, "https://w.example.com/campaigns/X") {
			t.Errorf("%s: got subject %q and text %q, want the subject %q, the owner's name and the page", tt.on, subject, text, tt.want)
		}
	}
}

// The receiver refuses what is not signed with its secret.
//
// part of: N3
func TestN3_TheReceiverVerifies(t *testing.T) {
	t.Parallel()
	r := newRig(t, "ffmpeg")
	r.must(r.announce(t.Context(), r.server.URL))
	a, err := r.ann.send(t.Context(), http.MethodPost, "/hook", "application/json", strings.NewReader(`{"type":"campaign_ready"}`))
	r.must(err)
	if _, hooks := r.box.arrived(); a.status != http.StatusUnauthorized || len(hooks) > 0 {
		t.Errorf("a webhook without a signature: got %d and %q, want 401 and nothing", a.status, hooks)
	}
}
