// Package metrics has what a server reports to Prometheus: the figures of its store, its requests,
// and the Go runtime.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
)

// Source is what is reported about the store. A redrive.Client is one.
type Source interface {
	Counts(ctx context.Context) ([]redrive.JobCount, error)
	DeadStats(ctx context.Context) (redrive.DeadStats, error)
	Heads(ctx context.Context) ([]redrive.Head, error)
	Processes(ctx context.Context) ([]redrive.Process, error)
	Series(ctx context.Context, q redrive.SeriesQuery) ([]redrive.Point, error)
	wire.StreamSource
}

// Options configure Metrics.
type Options struct {
	// Listeners returns the number of streams of events that are open.
	Listeners func() int
	// Held returns the number of requests that wait until their job has ended.
	Held    func() int
	Version string
	Logger  *slog.Logger
	Now     func() time.Time
}

// Metrics are the metrics of one server. It is an http.Handler that writes them.
type Metrics struct {
	registry *prometheus.Registry
	log      *slog.Logger
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
}

// buckets are the bounds of the durations of requests, in seconds.
var buckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// New makes the metrics of a server.
func New(source Source, o *Options) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), log: o.Logger,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "redrive_http_requests_total", Help: "Requests by route, method and status."}, []string{"route", "method", "status"}),
		took:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "redrive_http_request_duration_seconds", Help: "Time from a request to the end of its answer. Streams of events are not in it.", Buckets: buckets}, []string{"route", "method"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "redrive_build_info", Help: "The version of the server.", ConstLabels: prometheus.Labels{"version": o.Version}})
	build.Set(1)
	gauge := func(name, help string, n func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(n()) })
	}
	m.registry.MustRegister(m.requests, m.took, build, newFigures(source, o), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("redrive_event_listeners", "Streams of events that this server has open.", o.Listeners),
		gauge("redrive_held_answers", "Answers that this server holds until their job has ended.", o.Held))
	return m
}

// ServeHTTP writes the metrics as text. (Package promhttp can compress them, but makes the program
// larger by its compressors.)
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	families, err := m.registry.Gather()
	if err != nil { // what could be read is written
		m.log.WarnContext(r.Context(), "some metrics cannot be read", "error", err)
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	out := expfmt.NewEncoder(w, format)
	for _, f := range families {
		if err := out.Encode(f); err != nil {
			return // the client has gone
		}
	}
}

// Request counts a request. The route is the pattern of the route, never a path that a client has sent.
func (m *Metrics) Request(route, method string, status int, took time.Duration, stream bool) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	if !stream {
		m.took.WithLabelValues(route, method).Observe(took.Seconds())
	}
}
