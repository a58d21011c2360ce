package mail_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/notify/mail"
)

// A mail server of Debian takes a mail and delivers it to a local mailbox. OpenSMTPD needs root, and
// its TLS does not work with the OpenSSL of Debian 12, so the mail goes without.
// part of: N2
func TestSend_OpenSMTPDDelivers(t *testing.T) {
	const program = "/usr/sbin/smtpd"
	nobody, err := user.Lookup("nobody")
	if _, there := os.Stat(program); err != nil || there != nil || os.Getuid() != 0 {
		t.Skip("OpenSMTPD is not installed, or this is not root; on Debian: apt-get install opensmtpd")
	}
	if _, err := net.Dial("unix", "/run/smtpd.sock"); err == nil {
		t.Skip("OpenSMTPD already runs on this machine")
	}
	dir, err := os.MkdirTemp("", "redrive-mail-") //nolint:usetesting // others cannot enter the parents of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	box := filepath.Join(dir, "box")
	uid, _ := strconv.Atoi(nobody.Uid)
	conf := fmt.Sprintf("table everybody { \"@\" = \"nobody\" }\nlisten on 127.0.0.1 port %d\naction \"local\" maildir %q virtual <everybody>\nmatch from any for any action \"local\"\n", port, box)
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(box, 0o755), os.Chown(box, uid, -1), os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-d", "-v", "-f", filepath.Join(dir, "conf"))
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
	giveUp := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Signal(os.Interrupt) }) // so that the test ends
	defer giveUp.Stop()
	lines := bufio.NewScanner(log)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("OpenSMTPD ended and did not say %q", want)
	}
	until("offline scanning done")
	s, err := mail.New(mail.Settings{Host: "127.0.0.1", Port: port, TLS: mail.NoTLS, Insecure: true, From: "Copies <no-reply@example.com>"})
	if err != nil {
		t.Fatal(err)
	}
	id := rand.Text()
	if err := s.Send(t.Context(), mail.Message{To: "ann@example.com", Subject: "Frühling", Text: "Alle fertig.", ID: id, Date: time.Unix(1_700_000_000, 0)}); err != nil {
		t.Fatal(err)
	}
	for { // the queue of the machine may have mails of a run that was killed
		until("stat=Delivered")
		found, err := filepath.Glob(filepath.Join(box, "new", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(raw), "Message-ID: <"+id+"@example.com>") {
				continue
			}
			if !strings.Contains(string(raw), "Alle fertig.") {
				t.Errorf("the mailbox has %q; want the mail with its text", raw)
			}
			return
		}
	}
}
