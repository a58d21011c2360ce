package webhook_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/notify/webhook"
)

// names is a name server that answers with one address after another, and the last one from then on.
func names(t *testing.T, answers ...netip.Addr) *net.Resolver {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var asked int
	go func() {
		b := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			end := 12 // of the question: the name, its type and its class
			for b[end] != 0 {
				end += int(b[end]) + 1
			}
			end += 5
			isA := n >= end && binary.BigEndian.Uint16(b[end-4:]) == 1
			a := append([]byte{b[0], b[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, b[12:end]...)
			if isA {
				address := answers[min(asked, len(answers)-1)].As4()
				asked++
				a[7] = 1
				a = append(append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), address[:]...)
			}
			_, _ = c.WriteTo(a, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}

// The second look at a name gives an address of a private network: it is not dialled. Here 127.0.0.2
// is allowed, in the place of a public address, and 127.0.0.1 is not.
// part of: N3
func TestN3_Trap22_ASecondAnswerOfTheNameServerGainsNothing(t *testing.T) {
	t.Parallel()
	var dialled [2]atomic.Int32
	count := func(l net.Listener, n *atomic.Int32) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			_ = c.Close()
		}
	}
	first, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("this system has no address 127.0.0.2: " + err.Error())
	}
	t.Cleanup(func() { first.Close() })
	port := uint16(first.Addr().(*net.TCPAddr).Port)
	second, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Skip("the port is in use at 127.0.0.1")
	}
	t.Cleanup(func() { second.Close() })
	go count(first, &dialled[0])
	go count(second, &dialled[1])
	s := webhook.New(webhook.Options{Resolver: names(t, netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1"))})
	e := &webhook.Endpoint{URL: fmt.Sprintf("https://shop.example.com:%d/", port), Secret: secret, Ports: []uint16{port}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}
	if err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body}); err == nil || errors.Is(err, webhook.ErrPrivate) || dialled[0].Load() != 1 {
		t.Fatalf("the first answer: got error %v and %d connections, want an error of TLS and 1", err, dialled[0].Load())
	}
	if err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body}); !errors.Is(err, webhook.ErrPrivate) || dialled[1].Load() != 0 {
		t.Errorf("the second answer: got error %v and %d connections, want that it is refused without one", err, dialled[1].Load())
	}
}

// A receiver that sends its headers, or its body, byte by byte costs the timeout and no more. An endless body after
// a good status does no harm.
// part of: N3
func TestN3_Trap23_AReceiverThatDripsCostsTheTimeout(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"headers": "HTTP/1.1 200 OK\r\nX-Drip: ", "body": "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100000\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				for text := answer; ; text = "x" {
					if _, err := c.Write([]byte(text)); err != nil {
						return
					}
					time.Sleep(5 * time.Millisecond) //nolint:forbidigo // the receiver is slow on purpose
				}
			}()
			port := uint16(l.Addr().(*net.TCPAddr).Port)
			e := &webhook.Endpoint{URL: "http://" + l.Addr().String(), Secret: secret, AllowHTTP: true, Ports: []uint16{port}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
			began := time.Now()
			err = webhook.New(webhook.Options{Timeout: 200 * time.Millisecond}).Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body})
			if err == nil || time.Since(began) > 5*time.Second {
				t.Errorf("got error %v after %s, want one after the timeout of 200ms", err, time.Since(began))
			}
		})
	}
}

// part of: N3
func TestSend_RetryAfterMayBeADate(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(90 * time.Second).UTC()
	s, e := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", at.Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	})
	err := s.Send(t.Context(), e, webhook.Message{ID: "msg_1", Body: body})
	ev := failure.Of(err)
	if ev.HTTPStatus != http.StatusTooManyRequests || ev.RetryAfter < 80*time.Second || ev.RetryAfter > 91*time.Second {
		t.Errorf("the evidence has the status %d and a wait of %s, want 429 and 90s", ev.HTTPStatus, ev.RetryAfter)
	}
}
