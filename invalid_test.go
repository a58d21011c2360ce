package redrive_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store/memory"
)

// Each mistake in a configuration or in options is an ErrInvalid, so that a program can tell it from
// a store that does not answer.
func TestMistakesOfOptionsAreErrInvalid(t *testing.T) {
	t.Parallel()
	quietly := func(c redrive.Config) *redrive.Config {
		c.Logger = slog.New(slog.DiscardHandler)
		return &c
	}
	configs := map[string]redrive.Config{
		"Name":                  {Name: string(make([]byte, 300))},
		"Queues: name":          {Queues: map[string]redrive.Queue{"a b": {}}},
		"Queues: workers":       {Queues: map[string]redrive.Queue{"a": {Workers: -1}}},
		"Queues: limit":         {Queues: map[string]redrive.Queue{"a": {Limit: -1}}},
		"Queues: rate":          {Queues: map[string]redrive.Queue{"a": {Rate: redrive.Rate{N: 1}}}},
		"Schedule":              {Schedule: &policy.Schedule{MaxRetries: -2}},
		"MaxAttempts":           {MaxAttempts: -1},
		"MaxAge":                {MaxAge: -1},
		"Resends":               {Resends: -1},
		"PayloadMax":            {PayloadMax: -1},
		"Lease":                 {Lease: 1},
		"RescueInterval":        {RescueInterval: -1},
		"Poll":                  {Poll: -1},
		"Middleware":            {Middleware: []redrive.Middleware{nil}},
		"EnqueueMiddleware":     {EnqueueMiddleware: []redrive.EnqueueMiddleware{nil}},
		"KindEnqueueMiddleware": {KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{"a": {nil}}},
		"EnqueueMiddleware that returns nil": {EnqueueMiddleware: []redrive.EnqueueMiddleware{
			func(redrive.EnqueueFunc) redrive.EnqueueFunc { return nil },
		}},
		"KindEnqueueMiddleware: name": {KindEnqueueMiddleware: map[string][]redrive.EnqueueMiddleware{"a b": nil}},
	}
	job := render.New(renderArgs{}, nil)
	crons := map[string]redrive.Cron{
		"Name":               {Name: "a b", Expression: "@daily", Spec: job},
		"Expression":         {Name: "a", Expression: "daily", Spec: job},
		"Location":           {Name: "a", Expression: "@daily", Spec: job, Location: time.Local},
		"Catch":              {Name: "a", Expression: "@daily", Spec: job, Catch: 1},
		"no Spec":            {Name: "a", Expression: "@daily"},
		"a Spec with errors": {Name: "a", Expression: "@daily", Spec: render.New(renderArgs{}, &redrive.Options{Priority: 9})},
		"a Spec and Make":    {Name: "a", Expression: "@daily", Spec: job, Make: func(time.Time) redrive.Spec { return job }},
	}
	options := map[string]redrive.Options{
		"Priority":    {Priority: 9},
		"Attrs":       {Attrs: map[string]any{"f": func() {}}},
		"MaxAttempts": {MaxAttempts: -1},
		"Override":    {Override: &policy.Override{MaxRetries: new(-1)}},
		"Unique":      {Unique: &redrive.Unique{Period: 1}},
		"Key":         {Key: "unique:x"},
		"RunAt":       {RunAt: time.Unix(-1, 0)},
		"Queue":       {Queue: "a b"},
	}
	handlers := map[string]redrive.HandlerOptions{
		"Timeout":    {Timeout: -1},
		"KillGrace":  {KillGrace: -1},
		"Schedule":   {Schedule: &policy.Schedule{MaxRetries: -2}},
		"Workers":    {Workers: -1},
		"Limit":      {Limit: -1},
		"Rate":       {Rate: redrive.Rate{N: 1}},
		"MaxCrashes": {MaxCrashes: -1},
		"Middleware": {Middleware: []redrive.Middleware{nil}},
	}
	check := func(where, name string, err error) {
		t.Helper()
		if !errors.Is(err, redrive.ErrInvalid) {
			t.Errorf("a wrong %s of %s: got error %v, want an ErrInvalid", name, where, err)
		}
	}
	client := func(c redrive.Config) *redrive.Client {
		t.Helper()
		c.TempDir = t.TempDir()
		made, err := redrive.New(memory.New(memory.Options{}), quietly(c))
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for name, c := range configs {
		_, err := redrive.New(memory.New(memory.Options{}), quietly(c))
		check("Config", name, err)
	}
	_, err := redrive.New(nil, nil)
	check("New", "store", err)
	for name, entry := range crons {
		_, err := redrive.New(memory.New(memory.Options{}), quietly(redrive.Config{Cron: []redrive.Cron{entry}}))
		check("Config.Cron", name, err)
		check("SetCron", name, client(redrive.Config{}).SetCron(entry))
	}
	entry := redrive.Cron{Name: "a", Expression: "@daily", Spec: job}
	_, err = redrive.New(memory.New(memory.Options{}), quietly(redrive.Config{Cron: []redrive.Cron{entry, entry}}))
	check("Config.Cron", "second entry", err)
	for name, o := range options {
		s := render.New(renderArgs{}, &o)
		check("Options, in Validate", name, s.Validate())
		_, err := client(redrive.Config{}).Enqueue(t.Context(), s)
		check("Options, in Enqueue", name, err)
	}
	_, err = client(redrive.Config{}).Enqueue(t.Context(), redrive.Kind[chan int]("c").New(nil, nil))
	check("New of a kind", "argument", err)
	for name, o := range handlers {
		c := client(redrive.Config{})
		check("HandlerOptions, in TryHandle", name, redrive.TryHandle(c, render, succeed, &o))
		redrive.Handle(c, render, succeed, &o)
		check("HandlerOptions, in Run", name, c.RunUntilIdle(t.Context()))
	}
	c := client(redrive.Config{Middleware: []redrive.Middleware{func(redrive.HandlerFunc) redrive.HandlerFunc { return nil }}})
	check("TryHandle", "handler", redrive.TryHandle[renderArgs](c, render, nil, nil))
	check("TryHandle", "kind", redrive.TryHandle(c, redrive.Kind[int]("a b"), func(context.Context, *redrive.Job[int]) error { return nil }, nil))
	redrive.Handle(c, render, succeed, nil)
	check("Config", "Middleware that returns nil", c.RunUntilIdle(t.Context()))
}
