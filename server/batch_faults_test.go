package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// part of: B4
//
// Twenty clients create, fill and publish the same batch at the same moment: one batch, each member once (trap 15).
func TestTrap15_TwentyClientsPublishOnce(t *testing.T) {
	t.Parallel()
	s, _ := copies(t, nil, nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if a := s.do("POST", "/api/batches", `{"key":"once"}`); a.status != http.StatusCreated && a.status != http.StatusOK {
				t.Errorf("create: got %d %s", a.status, a.body)
			}
			for _, path := range []string{"/members", "/publish"} {
				body := ""
				if path == "/members" {
					body = members(50)
				}
				if a := s.do("POST", "/api/batches/1"+path, body); a.status >= 300 {
					t.Errorf("%s: got %d %s", path, a.status, a.body)
				}
			}
		})
	}
	wg.Wait()
	s.run()
	if v := s.batch("GET", "/api/batches/1", ""); v.State != "READY" || v.Total != 50 || v.Completed != 50 || v.Outcome != 1 {
		t.Errorf("got %+v, want 50 members and one end", v)
	}
	s.refused("not-found", "GET", "/api/batches/2", "")
}

// part of: F11
//
// A secret in the attributes of a batch is not shown, and payloads of callbacks are for operators only.
func TestF11_SecretsOfABatchAreNotShown(t *testing.T) {
	t.Parallel()
	s, _ := copies(t, as, nil)
	const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
	s.ok("POST", "/api/batches", `{"attrs":{"shop":7,"api_key":"`+secret+`"},"callbacks":[{"on":"end","kind":"report","payload":{"to":"shop","token":"`+secret+`"}}]}`, nil, ops)
	for caller, payload := range map[string]bool{"operate,view": true, "view": false, "submit": false} {
		a := s.ok("GET", "/api/batches/1", "", nil, "X-Test-Caller: "+caller)
		text := string(a.body)
		if strings.Contains(text, secret) || !strings.Contains(text, `"shop":7`) {
			t.Errorf("%s reads %s, want the attributes without the secret", caller, text)
		}
		if got := strings.Contains(text, `"to":"shop"`); got != payload {
			t.Errorf("%s reads %s, want the payload of the callback: %t", caller, text, payload)
		}
	}
}
