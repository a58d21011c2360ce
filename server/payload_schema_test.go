package server_test

import (
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/schema"
	"github.com/redrive/redrive/server"
)

// proves: X1
//
// A payload that does not fit the schema of its kind is refused with field, bound and sentence,
// alone and in an array.
func TestX1_PayloadsFitTheSchema(t *testing.T) {
	t.Parallel()
	render, err := schema.Compile("render.json", []byte(`{"type":"object","required":["image","duration"],"properties":{
		"image":{"type":"string","format":"http-url"},"duration":{"type":"number","minimum":1,"maximum":60,"x-unit":"second"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(c *redrive.Config, _ *server.Options) {
		c.PayloadChecks = map[string]redrive.PayloadCheck{"render": render}
	})
	p := s.refused("payload-invalid", "POST", "/api/jobs", `{"kind":"render","payload":{"image":"x","duration":0.5}}`)
	if p.StatusCode != 400 || p.Message != "Duration must be at least 1 second" || len(p.Errors) != 2 ||
		p.Errors[0].Pointer != "/payload/duration" || p.Errors[1].Pointer != "/payload/image" {
		t.Errorf("got %+v, want the sentence and both mistakes", p)
	}
	p = s.refused("payload-invalid", "POST", "/api/jobs",
		`[{"kind":"render","payload":{"image":"https://a.example/","duration":60}},{"kind":"render","payload":{"image":"https://a.example/","duration":61}}]`)
	if p.Message != "Duration must be at most 60 seconds" || len(p.Errors) != 1 || p.Errors[0].Pointer != "/1/payload/duration" {
		t.Errorf("got %+v, want one mistake in the second job", p)
	}
	if page, err := s.client.List(t.Context(), redrive.JobFilter{}); err != nil || len(page.Jobs) != 0 {
		t.Errorf("got %d jobs and error %v, want none", len(page.Jobs), err)
	}
	var list []receipt
	s.ok("POST", "/api/jobs", `[{"kind":"render","payload":{"image":"https://a.example/","duration":1}},{"kind":"mail","payload":{}}]`, &list)
}
