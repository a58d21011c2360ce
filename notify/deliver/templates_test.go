package deliver_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/deliver"
)

func batch(name string) *notify.BatchFacts {
	return &notify.BatchFacts{ID: "7", Name: name, Owner: "ann", State: "PARTIAL", Total: 50, Completed: 46, Dead: 4}
}

// part of: N2
func TestTemplates_TheTextsHaveTheFactsOfTheEvent(t *testing.T) {
	t.Parallel()
	texts, err := deliver.NewTemplates(nil)
	if err != nil {
		t.Fatal(err)
	}
	link := "https://jobs.example.com/ui/batches/7"
	member := &notify.JobFacts{ID: "42", Kind: "watermark", Owner: "ann", Key: "bob@example.com", Message: "The picture is damaged.", Attempts: 4, Reason: "max_retries_exceeded"}
	for on, want := range map[notify.Event][]string{
		notify.BatchReady:   {"Spring", "46", "ann", link},
		notify.BatchPartial: {"Spring", "46", "4", "ann", link},
		notify.BatchFailed:  {"Spring", "4 of 50", "ann", link},
		notify.MemberDead:   {"Spring", "bob@example.com", "The picture is damaged.", "ann", link},
	} {
		n := notify.Notice{On: on, Facts: notify.Facts{Batch: batch("Spring"), Job: member, Link: link}}
		subject, text, html, err := texts.Render(&n)
		if err != nil || subject == "" {
			t.Fatalf("%s: subject %q, error %v", on, subject, err)
		}
		for _, part := range want {
			if !strings.Contains(text, part) || !strings.Contains(html, part) {
				t.Errorf("%s: the mail has no %q:\n%s\n%s", on, part, text, html)
			}
		}
		if strings.Contains(text, "max_retries_exceeded") {
			t.Errorf("%s: the mail for users has the reason for operators:\n%s", on, text)
		}
		n.Team = true
		if _, text, _, _ = texts.Render(&n); on == notify.MemberDead && !strings.Contains(text, "max_retries_exceeded after 4 attempts") {
			t.Errorf("the mail for the team has no reason:\n%s", text)
		}
	}
}

// part of: F11, N2
func TestF11_Trap20_HostileTextIsTextInMails(t *testing.T) {
	t.Parallel()
	texts, err := deliver.NewTemplates(nil)
	if err != nil {
		t.Fatal(err)
	}
	hostile := `<script>alert(1)</script>{{.Link}}"><img src=x onerror=alert(1)>`
	n := notify.Notice{On: notify.BatchPartial, Facts: notify.Facts{Batch: batch(hostile), Link: "javascript:alert(1)"}}
	subject, text, html, err := texts.Render(&n)
	if err != nil || !strings.Contains(subject, hostile) || !strings.Contains(text, hostile) {
		t.Fatalf("subject %q, text %q, error %v; want the name as it is", subject, text, err)
	}
	if strings.Contains(html, "<script") || strings.Contains(html, "<img") || strings.Contains(html, `href="javascript`) {
		t.Errorf("the HTML form has what the name says:\n%s", html)
	}
}

func TestTemplates_MistakesAreRefusedWithLineAndCure(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		`batch_ready.txt:3: .Batch.Colour: there is no fact "Colour"`:                            {"batch_ready.txt": "Subject: x\n\n{{.Batch.Colour}}\n"},
		`there is no mail with this name; name the file like the mail that it replaces, did you`: {"batch_raedy.txt": "Subject: x\n\ny\n"},
		`batch_ready.txt:3: bad character U+007D '}': correct the template`:                      {"batch_ready.txt": "Subject: x\n\n{{.Batch.Name}\n"},
		`job_dead.txt:3: .Batch.Name: a notice may lack this fact: put the fact into {{with}} …`: {"job_dead.txt": "Subject: x\n\n{{.Batch.Name}}\n"},
		`batch_ready.txt:1: the text must begin with a line such as "Subject: {{.At}}"`:          {"batch_ready.txt": "{{.Batch.Name}}\n\ny\n"},
		`mail.html:1: .Body: there is no fact "Body"`:                                            {"mail.html": "<p>{{.Body}}</p>"},
		`digest.txt: the file has 0 bytes`:                                                       {"digest.txt": ""},
	} {
		folder := fstest.MapFS{"README": {Data: []byte("not a template")}}
		for name, text := range files {
			folder[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if _, err := deliver.NewTemplates(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got error %v, want one with %q", files, err, want)
		}
	}
	own := fstest.MapFS{"batch_ready.txt": {Data: []byte("Subject: own {{.Batch.Name}}\n\nOwn text.\n")}}
	texts, err := deliver.NewTemplates(own)
	if err != nil {
		t.Fatal(err)
	}
	if subject, text, _, err := texts.Render(&notify.Notice{On: notify.BatchReady, Facts: notify.Facts{Batch: batch("Spring")}}); err != nil || subject != "own Spring" || text != "Own text.\n" {
		t.Errorf("got %q and %q, error %v; want the own text", subject, text, err)
	}
}
