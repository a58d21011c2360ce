package redrive_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redrive/redrive"
)

// Several processes get the same request at the same time. One of them carries the request
// out, and the others get its answer.
//
// part of: I1
func TestI1_ARequestThatIsSentTwiceIsBegunOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		request := redrive.Request{Scope: "alice bulk", Key: "k1", Digest: []byte("d")}
		var begun atomic.Int32
		var all sync.WaitGroup
		var clients []*redrive.Client
		for range 2 {
			c, err := redrive.New(d.open(), &redrive.Config{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			clients = append(clients, c)
			for range 4 {
				all.Go(func() {
					switch _, existing, err := c.BeginRequest(t.Context(), request); {
					case err != nil:
						t.Errorf("BeginRequest: got error %v, want none", err)
					case !existing:
						begun.Add(1)
					}
				})
			}
		}
		all.Wait()
		if n := begun.Load(); n != 1 {
			t.Errorf("%d of 8 calls began the request, want 1", n)
		}
		if err := clients[0].EndRequest(t.Context(), "alice bulk", "k1", 201, []byte(`{"jobs":3}`)); err != nil {
			t.Fatal(err)
		}
		if r, existing, err := clients[1].BeginRequest(t.Context(), request); !existing || err != nil || r.Status != 201 || string(r.Body) != `{"jobs":3}` {
			t.Errorf("BeginRequest of the request by the other client: got %+v, existing %v, error %v; want the stored request with its answer", r, existing, err)
		}
		if err := clients[0].EndRequest(t.Context(), "alice bulk", "k2", 201, nil); !errors.Is(err, redrive.ErrNotFound) {
			t.Errorf("EndRequest of an unknown request: got error %v, want ErrNotFound", err)
		}
	})
}
