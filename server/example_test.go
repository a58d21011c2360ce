package server_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store/memory"
)

// A program mounts the server below a path of its own, beside its own login.
func ExampleNew() {
	quiet := slog.New(slog.DiscardHandler)
	client, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Logger: quiet})
	if err != nil {
		panic(err)
	}
	s, err := server.New(client, server.Options{
		Base: "/redrive",
		Identify: func(r *http.Request) (access.Caller, error) {
			user, _, ok := r.BasicAuth() // a real program checks the password
			if !ok {
				return access.Caller{}, access.ErrUnauthenticated
			}
			return access.Caller{Actor: user, Roles: access.Submit}, nil
		},
		Logger: quiet,
	})
	if err != nil {
		panic(err)
	}
	defer s.Stop()
	mux := http.NewServeMux()
	mux.Handle("/redrive/", http.StripPrefix("/redrive", s))

	for _, user := range []string{"", "ann"} {
		r := httptest.NewRequest(http.MethodPost, "/redrive/api/jobs", strings.NewReader(`{"kind": "send", "payload": {"to": "ben"}}`))
		r.Header.Set("Content-Type", "application/json")
		if user != "" {
			r.SetBasicAuth(user, "secret")
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 401
	// 201
}
