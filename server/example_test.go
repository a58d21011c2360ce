package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store/memory"
)

// A program serves the API beside its own routes, to the users of its own login.
func ExampleNew() {
	client, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux, err := routes(client)
	if err != nil {
		fmt.Println(err)
		return
	}
	web := httptest.NewServer(mux)
	defer web.Close()
	for _, r := range []struct{ user, method, path, body string }{
		{"ann", "GET", "/hello", ""},
		{"", "GET", "/redrive/api/whoami", ""},
		{"ann", "POST", "/redrive/api/jobs", `{"kind":"thumbnail","payload":{"image":"cat.png"}}`},
		{"ben", "GET", "/redrive/api/jobs/1", ""},
		{"root", "POST", "/redrive/api/jobs/1/cancel", `{"note":"wrong picture"}`},
	} {
		fmt.Println(r.user, r.method, r.path, ask(web.URL+r.path, r.user, r.method, r.body))
	}
	// Output:
	// ann GET /hello 200 hello ann
	//  GET /redrive/api/whoami 401
	// ann POST /redrive/api/jobs 201 {"id":"1","existing":false,"state":"waiting"}
	// ben GET /redrive/api/jobs/1 404
	// root POST /redrive/api/jobs/1/cancel 200 {"id":"1","life":1,"state":"cancelled"}
}

// routes returns the routes of the program with those of redrive below /redrive. Its users see and
// submit their own jobs; root does everything.
func routes(client *redrive.Client) (*http.ServeMux, error) {
	login := func(r *http.Request) string { // stands for the program's own login
		user, _, _ := r.BasicAuth()
		return user
	}
	s, err := server.New(client, server.Options{
		Base: "/redrive",
		Identify: func(r *http.Request) (access.Caller, error) {
			switch user := login(r); user {
			case "":
				return access.Caller{}, access.ErrUnauthenticated
			case "root":
				return access.Caller{Actor: user, Roles: access.Administer}, nil
			default:
				return access.Caller{Actor: user, Roles: access.Submit, Owner: user}, nil
			}
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", login(r)) })
	mux.Handle("/redrive/", http.StripPrefix("/redrive", s))
	return mux, nil
}

// ask sends a request and returns the status, and the body of a success.
func ask(url, user, method, body string) string {
	r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(user, "")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode >= 300 {
		return fmt.Sprint(got.StatusCode)
	}
	return fmt.Sprintf("%d %s", got.StatusCode, strings.TrimSpace(string(text)))
}
