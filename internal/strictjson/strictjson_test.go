package strictjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/strictjson"
	"github.com/redrive/redrive/job"
)

type inner struct {
	Name string `json:"name"`
	N    *int   `json:"n"`
}

type request struct {
	Kind    string          `json:"kind"`
	Payload json.RawMessage `json:"payload"`
	IDs     []job.ID        `json:"ids"`
	Inner   *inner          `json:"inner"`
	Many    []inner         `json:"many"`
	Attrs   map[string]any  `json:"attrs"`
	Small   int8            `json:"small"`
	Yes     bool            `json:"yes"`
	Share   float64         `json:"share"`
}

func read(t *testing.T, text string) (request, []strictjson.Mistake) {
	t.Helper()
	if err := strictjson.Check([]byte(text), 10); err != nil {
		t.Fatalf("Check(%s): got error %v, want none", text, err)
	}
	var r request
	return r, strictjson.Decode([]byte(text), &r, "")
}

// part of: X1, X3
func TestX1_DecodeFindsAllMistakes(t *testing.T) {
	t.Parallel()
	_, got := read(t, ` {"kind": 1, "kin": 2, "ids": ["7", 8, "x"], "inner": {"n": "1", "name": null, "na\u006de": "a"},
		"many": [{"name": "a"}, {"nane": "b"}], "attrs": {"a": 1, "a": 2}, "small": 128, "yes": "true", "share": "1", "kind": "k", "a/b~c": 1}`)
	want := []strictjson.Mistake{
		{Pointer: "/kind", Detail: "must be a string, found 1"},
		{Pointer: "/kin", Detail: `unknown field "kin", did you mean "kind"?`, Unknown: true},
		{Pointer: "/ids/1", Detail: "must be a string, found 8"},
		{Pointer: "/ids/2", Detail: `job id "x": must be a positive whole number`},
		{Pointer: "/inner/n", Detail: `must be a whole number, found "1"`},
		{Pointer: "/inner/name", Detail: "must be a string, found null; leave the field out"},
		{Pointer: "/inner/name", Detail: "the field is given twice; keep one of them"},
		{Pointer: "/many/1/nane", Detail: `unknown field "nane", did you mean "name"?`, Unknown: true},
		{Pointer: "/attrs/a", Detail: "the field is given twice; keep one of them"},
		{Pointer: "/small", Detail: "must be a whole number, found 128"},
		{Pointer: "/yes", Detail: `must be true or false, found "true"`},
		{Pointer: "/share", Detail: `must be a number, found "1"`},
		{Pointer: "/kind", Detail: "the field is given twice; keep one of them"},
		{Pointer: "/a~1b~0c", Detail: `unknown field "a/b~c"; known are kind, payload, ids, inner, many, attrs, small, yes, share`, Unknown: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

// part of: I1
//
// The bytes of a payload are those that were sent, whatever is in them.
func TestTrap33_PayloadBytesAreKept(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		`1e400`, `9223372036854775808`, `{"b":1,"a":2,"b":3}`, `"\ud800"`, "[ 1 ,\t2\n]", `null`, `"\u0000"`, `-0.0e-0`, `{"a":{"payload":"}"}}`, `"\\\""`, `""`,
	} {
		r, mistakes := read(t, `{"kind":"k", "payload": `+payload+"\n , \"yes\":true}")
		if len(mistakes) > 0 || string(r.Payload) != payload || !r.Yes {
			t.Errorf("payload %s: got %s, yes %t and the mistakes %v, want the same bytes", payload, r.Payload, r.Yes, mistakes)
		}
	}
}

// part of: X3
func TestX3_Check(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{"a":[[1]]}`, ""},
		{`[[[1]]]`, ""},
		{`[[[[1]]]]`, "the JSON text is nested too deep at byte 4: at most 3 levels are allowed"},
		{`"[[[[["`, ""},
		{"", "the body is empty: it must be JSON"},
		{" \n", "the body is empty: it must be JSON"},
		{`{"a":1`, "the text is not JSON: it ends too early, after 6 bytes"},
		{`{"a":1}{`, "there is more text after the JSON value, at byte 8"},
		{`{'a':1}`, "the text is not JSON at byte 2: invalid character '\\'' looking for beginning of object key string"},
		{"\"\xff\"", "the text is not UTF-8 at byte 2"},
		{"\ufeff{}", "the text begins with a byte-order mark; send UTF-8 without this mark"},
		{"[1,]", "the text is not JSON at byte 4: invalid character ']' looking for beginning of value"},
	} {
		got := ""
		if err := strictjson.Check([]byte(c.text), 3); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Check(%q): got error %q, want %q", c.text, got, c.want)
		}
	}
}

// Decode never panics on JSON that Check accepts, and accepts what encoding/json accepts, unless a
// name is unknown or occurs twice.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"kind":"k","payload":{"a":[1,2,{"b":"\""}]},"ids":["1"],"inner":{"n":1},"attrs":{"x":null},"small":-128,"share":1e3}`,
		`[]`, `"\\"`, ` { } `, `{"":0}`, `{"kind":"\u00e9\ud83d\ude00"}`, `{"many":[{},{"name":""}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strictjson.Check(text, 64) != nil {
			return
		}
		var r, plain request
		mistakes := strictjson.Decode(text, &r, "")
		if len(mistakes) > 0 {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&plain); err != nil {
			t.Fatalf("%q: got no mistake, but encoding/json says %v", text, err)
		}
		if diff := cmp.Diff(plain, r, cmp.Comparer(func(a, b json.RawMessage) bool { return strings.TrimSpace(string(a)) == string(b) })); diff != "" {
			t.Fatalf("%q: differs from encoding/json (-json +got):\n%s", text, diff)
		}
	})
}
