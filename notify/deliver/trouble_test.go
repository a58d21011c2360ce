package deliver_test

import (
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/notify/deliver"
)

var dead = notify.Notice{On: notify.MemberDead, Kind: notify.KindMail, Channel: "mail", To: "ann@example.com",
	Facts: notify.Facts{Batch: batch("Spring"), Job: &notify.JobFacts{ID: "7", Kind: "copy", Message: "The copy could not be made."}}}

// A mail outlasts a server that is away for an hour, asks to come later twice, goes away in the middle of a mail
// and closes the connection after it has taken one: it arrives at the tenth and last attempt, and the one that was
// taken before has the same Message-ID.
//
// part of: N2
func TestN2_Trap21_AMailOutlastsAServerInTrouble(t *testing.T) {
	t.Parallel()
	refusal := func(code int, text string) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 7, 1}, Message: text}
	}
	rcpts := []error{refusal(451, "Greylisting in action, please come back later"), refusal(451, "Greylisting in action, please come back later")}
	var got []string
	answers := []func(*smtp.Conn) error{
		func(*smtp.Conn) error {
			got = nil
			return refusal(421, "Service not available, closing transmission channel")
		},
		func(c *smtp.Conn) error { return c.Conn().Close() },
	}
	m := newMails(t, func(raw string) { got = append(got, raw) })
	m.rcpt = func() (err error) {
		if len(rcpts) > 0 {
			err, rcpts = rcpts[0], rcpts[1:]
		}
		return err
	}
	m.data = func(c *smtp.Conn) (err error) {
		if len(answers) > 0 {
			err, answers = answers[0](c), answers[1:]
		}
		return err
	}
	r := newRig(t, deliver.Options{Mail: m.settings()}, nil)
	id := r.notice(dead)
	m.away.Store(true)
	begun := r.now()
	for range 10 {
		m.away.Store(r.now().Sub(begun) < time.Hour)
		r.work()
		j := r.job(id)
		if j.State != job.Retrying {
			break
		}
		r.advance(j.RunAt.Time().Sub(r.now()))
	}
	j := r.job(id)
	if j.State != job.Completed || j.Counters.Attempts != 10 || len(rcpts)+len(answers) > 0 {
		t.Fatalf("the job is %s after %d attempts with %d troubles left, want completed after 10 with none: %+v", j.State, j.Counters.Attempts, len(rcpts)+len(answers), j)
	}
	if len(got) != 2 || header(got[0], "Message-ID") == "" || header(got[0], "Message-ID") != header(got[1], "Message-ID") || header(got[0], "Date") != header(got[1], "Date") {
		t.Errorf("the server has taken %d mails, want 2 with one Message-ID and date", len(got))
	}
}

// An address that the server does not know ends the job at the first attempt.
//
// part of: N2
func TestMail_AnUnknownAddressEndsTheNotice(t *testing.T) {
	t.Parallel()
	m := newMails(t, func(string) { t.Error("the server has taken a mail") })
	m.rcpt = func() error {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such user here"}
	}
	r := newRig(t, deliver.Options{Mail: m.settings()}, nil)
	id := r.notice(dead)
	r.work()
	if j := r.job(id); j.State != job.Dead || j.Counters.Attempts != 1 {
		t.Errorf("the job is %s after %d attempts, want dead after 1", j.State, j.Counters.Attempts)
	}
}
