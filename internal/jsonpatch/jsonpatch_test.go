package jsonpatch_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/jsonpatch"
)

// The first cases are the examples of RFC 6902, appendix A.
//
// part of: D5
func TestD5_PatchesKeepAllOtherBytes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ document, patch, want string }{
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"foo":"bar","baz":"qux"}`},
		{`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`,
			`{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{`{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{`{"baz":"qux"}`, `[{"op":"test","path":"/baz","value":"bar"}]`, ``},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"foo":"bar","child":{"grandchild":{}}}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz/bat","value":"qux"}]`, ``},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":"10"}]`, ``},
		{`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},

		{" {\n  \"big\" : 9223372036854775808, \"e\":1e400,\r\n \"s\":\"\\u003c<\\/\", \"bucket\": \"wrong\" } \n", `[{"op":"replace","path":"/bucket","value":"right"}]`,
			" {\n  \"big\" : 9223372036854775808, \"e\":1e400,\r\n \"s\":\"\\u003c<\\/\", \"bucket\": \"right\" } \n"},
		{`{ "a" : [ 1 , 2 , 3 ] }`, `[{"op":"remove","path":"/a/0"}]`, `{ "a" : [ 2 , 3 ] }`},
		{`{ "a" : [ 1 , 2 , 3 ] }`, `[{"op":"remove","path":"/a/2"}]`, `{ "a" : [ 1 , 2 ] }`},
		{`{"":1,"a":{"":2}}`, `[{"op":"replace","path":"/a/","value":3},{"op":"remove","path":"/"}]`, `{"a":{"":3}}`},
		{`{"a":null}`, `[{"op":"test","path":"/a","value":null},{"op":"replace","path":"/a","value":null}]`, `{"a":null}`},
		{`{}`, `[{"op":"add","path":"/a","value":1}]`, `{"a":1}`},
		{`[]`, `[{"op":"add","path":"/-","value":1},{"op":"add","path":"/0","value":0}]`, `[0,1]`},
		{`{"a":1}`, `[{"op":"copy","from":"","path":"/b"}]`, `{"a":1,"b":{"a":1}}`},
		{`{"a":"]},\"{"}`, `[{"op":"copy","from":"/a","path":"/b"}]`, `{"a":"]},\"{","b":"]},\"{"}`},
		{`1`, `[{"op":"replace","path":"","value":{"a":1}}]`, `{"a":1}`},
		{`{"big":9223372036854775808}`, `[{"op":"test","path":"/big","value":9223372036854775807}]`, ``},
		{`[1]`, `[{"op":"remove","path":"/-"}]`, ``},
		{`[1]`, `[{"op":"remove","path":"/01"}]`, ``},
		{`[1]`, `[{"op":"add","path":"/2","value":1}]`, ``},
		{`[1]`, `[{"op":"remove","path":""}]`, ``},
		{`not JSON`, `[{"op":"remove","path":"/a"}]`, ``},
		{`{"a":1}`, `[{"op":"replace","path":"/a/b","value":1}]`, ``},
	} {
		p, err := jsonpatch.Parse([]byte(tt.patch))
		if err != nil {
			t.Errorf("parse the patch %s: got error %v, want none", tt.patch, err)
			continue
		}
		got, err := p.Apply([]byte(tt.document), 1000)
		switch {
		case tt.want == "" && !errors.Is(err, jsonpatch.ErrDoesNotApply):
			t.Errorf("%s of %s: got %s, error %v; want ErrDoesNotApply", tt.patch, tt.document, got, err)
		case tt.want != "" && (err != nil || string(got) != tt.want):
			t.Errorf("%s of %s: got %s, error %v; want %s", tt.patch, tt.document, got, err, tt.want)
		}
	}
}

// part of: X3
func TestX3_PatchesAreBounded(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		``, `{}`, `[]`, `null`, `[] []`, `[{"op":"add","path":"/a","value":1}] x`, `[{"op":"add","value":1}]`, `[{"op":"add","path":"/a"}]`,
		`[{"op":"eat","path":"/a"}]`, `[{"op":"add","path":"a","value":1}]`, `[{"op":"move","path":"/a"}]`, `[{"op":"move","from":"/a","path":"/a/b"}]`,
		`[{"op":"copy","from":"a","path":"/b"}]`, `[{"op":"add","path":"/a","value":1,"more":2}]`,
		`[` + strings.Repeat(`{"op":"remove","path":"/a"},`, jsonpatch.OperationsMax) + `{"op":"remove","path":"/a"}]`,
		`[{"op":"add","path":"/a","value":"` + strings.Repeat("x", jsonpatch.BytesMax) + `"}]`,
	} {
		if _, err := jsonpatch.Parse([]byte(bad)); err == nil {
			t.Errorf("patch %.60q: Parse returned no error, want an error", bad)
		}
	}
	double := `[` + strings.Repeat(`{"op":"copy","from":"","path":"/-"},`, 60) + `{"op":"test","path":"","value":1}]`
	p, err := jsonpatch.Parse([]byte(double))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply([]byte(`[]`), 1000); !errors.Is(err, jsonpatch.ErrDoesNotApply) || !strings.Contains(err.Error(), "at most 1000 bytes") {
		t.Errorf("a patch that doubles the document: got error %v, want an error that names the limit", err)
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":2}]}`), []byte(`[{"op":"move","from":"/a/0","path":"/c"}]`))
	f.Add([]byte(` [ "]" , {} ] `), []byte(`[{"op":"remove","path":"/1"},{"op":"add","path":"/-","value":{"x":null}}]`))
	f.Fuzz(func(t *testing.T, document, patch []byte) {
		p, err := jsonpatch.Parse(patch)
		if err != nil {
			return
		}
		got, err := p.Apply(document, 10_000)
		if err == nil && !json.Valid(got) {
			t.Errorf("%s of %s: got %s, want JSON", patch, document, got)
		}
	})
}
