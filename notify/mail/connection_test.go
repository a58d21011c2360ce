package mail_test

import (
	"testing"

	"github.com/emersion/go-smtp"
)

// A connection is used for a hundred mails. One that the server has closed meanwhile loses no mail and repeats none, and one on
// which a mail was refused is not used again.
//
// part of: N2
func TestSend_AConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t, true)
	sender := s.sender(t, nil)
	send := func(n int) {
		t.Helper()
		for range n {
			if err := sender.Send(t.Context(), message); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := func(mails, conns int) {
		t.Helper()
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.mails) != mails || len(s.conns) != conns {
			t.Errorf("%d mails over %d connections, want %d over %d", len(s.mails), len(s.conns), mails, conns)
		}
	}
	send(100)
	want(100, 1)
	send(5)
	want(105, 2)
	s.mu.Lock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	send(2)
	want(107, 3)
	s.mu.Lock()
	s.script = []step{{rcpt: &smtp.SMTPError{Code: 550, Message: "no such user"}}}
	s.mu.Unlock()
	if err := sender.Send(t.Context(), message); err == nil {
		t.Error("a mail that the server has refused was sent")
	}
	send(1)
	want(108, 4)
}
