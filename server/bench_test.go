//go:build unix

package server_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/server"
	"github.com/redrive/redrive/store/sqlite"
)

// payload is a payload of 200 bytes.
var payload = `{"image":"` + strings.Repeat("x", 188) + `"}`

func benchClient(b *testing.B) *redrive.Client {
	b.Helper()
	st, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "jobs.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	client, err := redrive.New(st, &redrive.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return client
}

// benchServe serves a handler with the settings of the command, and returns its address.
func benchServe(b *testing.B, h http.Handler) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l) //nolint:errcheck // it ends with the benchmark
	b.Cleanup(func() { _ = s.Close() })
	return "http://" + l.Addr().String()
}

func benchServer(b *testing.B) string {
	b.Helper()
	h, err := server.New(benchClient(b), server.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return benchServe(b, h)
}

const batch = 100

// report reports the rate, and the CPU time of this process for a job: unlike the rate, it does not
// depend on what else the machine does.
func report(b *testing.B, jobs int, before time.Duration) {
	b.ReportMetric(float64(jobs)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1000/float64(jobs), "cpu-µs/job")
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSubmit_BatchesOf100 compares submits in arrays of 100 jobs on one connection with the
// same load through the Go API.
func BenchmarkSubmit_BatchesOf100(b *testing.B) {
	b.Run("go", func(b *testing.B) {
		client := benchClient(b)
		specs := make([]redrive.Spec, batch)
		before := cpu(b)
		for b.Loop() {
			for i := range specs {
				specs[i] = redrive.NewRaw("k", []byte(payload), nil)
			}
			if _, err := client.EnqueueMany(b.Context(), specs); err != nil {
				b.Fatal(err)
			}
		}
		report(b, b.N*batch, before)
	})
	b.Run("http", func(b *testing.B) {
		url := benchServer(b)
		body := []byte("[" + strings.TrimSuffix(strings.Repeat(`{"kind":"k","payload":`+payload+"},", batch), ",") + "]")
		before := cpu(b)
		for b.Loop() {
			post(b, http.DefaultClient, url, body)
		}
		report(b, b.N*batch, before)
	})
}

func post(b *testing.B, client *http.Client, url string, body []byte) {
	r, err := client.Post(url+"/api/jobs", "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	_, err = io.Copy(io.Discard, r.Body)
	r.Body.Close()
	if err != nil || r.StatusCode != http.StatusCreated {
		b.Fatal(r.Status, err)
	}
}

// BenchmarkSubmit_OneByOne compares submits of single jobs from 100 connections with a handler that
// reads the body and answers.
func BenchmarkSubmit_OneByOne(b *testing.B) {
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintln(w, `{"id":"1","existing":false,"state":"waiting"}`)
	})
	for _, c := range []struct {
		name string
		url  func(*testing.B) string
	}{{"bare", func(b *testing.B) string { return benchServe(b, bare) }}, {"http", benchServer}} {
		b.Run(c.name, func(b *testing.B) {
			url := c.url(b)
			body := []byte(`{"kind":"k","payload":` + payload + "}")
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, MaxConnsPerHost: 100}}
			var left atomic.Int64
			left.Store(int64(b.N))
			var all sync.WaitGroup
			b.ResetTimer()
			before := cpu(b)
			for range 100 {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						post(b, client, url, body)
					}
				})
			}
			all.Wait()
			report(b, b.N, before)
		})
	}
}
