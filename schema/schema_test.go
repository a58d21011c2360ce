package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/schema"
)

// render is the schema of system V's jobs.
const render = `{
	"type": "object", "required": ["timeline"], "additionalProperties": false,
	"properties": {"timeline": {"type": "object", "required": ["clips"], "properties": {
		"clips": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/clip"}}}}},
	"$defs": {"clip": {"type": "object", "required": ["image", "text", "duration"], "properties": {
		"image": {"type": "string", "format": "http-url"},
		"text": {"type": "string", "maxLength": 5},
		"duration": {"type": "number", "minimum": 1, "maximum": 60, "x-unit": "second"}}}}
}`

func compiled(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile("test.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func clips(n int, clip string) string {
	return fmt.Sprintf(`{"timeline":{"clips":[%s]}}`, strings.TrimSuffix(strings.Repeat(clip+",", n), ","))
}

// proves: X1
func TestX1_EveryBoundOneBelowOnAndAbove(t *testing.T) {
	t.Parallel()
	clip := func(image, text, duration string) string {
		return fmt.Sprintf(`{"image":%s,"text":%s,"duration":%s}`, image, text, duration)
	}
	good := clip(`"https://a.example/1.png"`, `"five5"`, "1")
	type mistake struct{ Pointer, Detail, Bound string }
	for _, tt := range []struct {
		name, payload string
		want          []mistake
	}{
		{"one second", clips(1, good), nil},
		{"below a second", clips(1, clip(`"http://a/1"`, `""`, "0.999")),
			[]mistake{{"/timeline/clips/0/duration", "Duration must be at least 1 second", "1"}}},
		{"above a second", clips(1, clip(`"http://a/1"`, `""`, "1.001")), nil},
		{"59 seconds", clips(1, clip(`"http://a/1"`, `""`, "59")), nil},
		{"60 seconds", clips(1, clip(`"http://a/1"`, `""`, "60")), nil},
		{"61 seconds", clips(1, clip(`"http://a/1"`, `""`, "61")),
			[]mistake{{"/timeline/clips/0/duration", "Duration must be at most 60 seconds", "60"}}},
		{"a duration as a text", clips(1, clip(`"http://a/1"`, `""`, `"5"`)),
			[]mistake{{"/timeline/clips/0/duration", "Duration must be a number, found a string", ""}}},
		{"a text of 6 characters", clips(1, clip(`"http://a/1"`, `"äöüßéè"`, "5")),
			[]mistake{{"/timeline/clips/0/text", "Text must have at most 5 characters", "5"}}},
		{"no clips", clips(0, ""), []mistake{{"/timeline/clips", "Clips must have at least 1 item", "1"}}},
		{"two clips", clips(2, good), nil},
		{"three clips", clips(3, good), nil},
		{"four clips", clips(4, good), []mistake{{"/timeline/clips", "Clips must have at most 3 items", "3"}}},
		{"no URL", clips(1, clip(`"not a url"`, `""`, "5")),
			[]mistake{{"/timeline/clips/0/image", "Image must be a valid URL that begins with http:// or https://", "http-url"}}},
		{"a URL of a script", clips(1, clip(`"javascript:alert(1)"`, `""`, "5")),
			[]mistake{{"/timeline/clips/0/image", "Image must be a valid URL that begins with http:// or https://", "http-url"}}},
		{"missing fields", `{"timeline":{"clips":[{"text":"a"}]}}`, []mistake{
			{"/timeline/clips/0/duration", "Duration is required", ""}, {"/timeline/clips/0/image", "Image is required", ""}}},
		{"no timeline", `{}`, []mistake{{"/timeline", "Timeline is required", ""}}},
		{"an unknown field", `{"timelime":{},"timeline":{"clips":[` + good + `]}}`,
			[]mistake{{"", `The payload must not have the field "timelime", did you mean "timeline"?`, ""}}},
		{"a list", `[]`, []mistake{{"", "The payload must be an object, found an array", ""}}},
		{"no JSON", `{"timeline"`, []mistake{{"", "the payload is not JSON: unexpected EOF", ""}}},
		{"two values", `{} {}`, []mistake{{"", "the payload is not JSON: there is more text after the JSON value", ""}}},
		{"a key twice", `{"timeline":{"clips":[` + good + `,{"duration":1,"duration":9999}]}}`,
			[]mistake{{"/timeline/clips/1/duration", "the payload has this key twice; keep one of them", ""}}},
		{"a number of 100 million digits", `{"timeline":{"clips":[` + good + `,1e99999999]}}`,
			[]mistake{{"/timeline/clips/1", "the number has more than 1000 digits; send it as a text", "1000"}}},
		{"all mistakes at once", clips(1, clip(`"x"`, `"123456"`, "0")), []mistake{
			{"/timeline/clips/0/duration", "Duration must be at least 1 second", "1"},
			{"/timeline/clips/0/image", "Image must be a valid URL that begins with http:// or https://", "http-url"},
			{"/timeline/clips/0/text", "Text must have at most 5 characters", "5"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []mistake
			for _, m := range compiled(t, render).CheckPayload([]byte(tt.payload)) {
				got = append(got, mistake(m))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mistakes of %s (-want +got):\n%s", tt.payload, diff)
			}
		})
	}
}

// part of: X1
func TestX1_SentencesOfTheKeywords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, payload, want string }{
		{`{"title":"Jobs","minimum":1}`, `0`, "The payload must be at least 1"},
		{`{"properties":{"a":{"title":"Bit rate","exclusiveMinimum":0.5,"x-unit":"kilobit"}}}`, `{"a":0.5}`, "Bit rate must be more than 0.5 kilobits"},
		{`{"properties":{"a":{"exclusiveMaximum":1}}}`, `{"a":1}`, "A must be less than 1"},
		{`{"properties":{"frame_rate":{"multipleOf":0.25}}}`, `{"frame_rate":0.3}`, "Frame rate must be a multiple of 0.25"},
		{`{"properties":{"imageUrl":{"minLength":1}}}`, `{"imageUrl":""}`, "Image url must not be empty"},
		{`{"properties":{"a":{"minLength":2}}}`, `{"a":"x"}`, "A must have at least 2 characters"},
		{`{"properties":{"a":{"pattern":"^v[0-9]+$"}}}`, `{"a":"x"}`, "A must match the pattern ^v[0-9]+$"},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,2,1]}`, "A must not have the same item twice, found it at 0 and 2"},
		{`{"properties":{"a":{"enum":["low","high"]}}}`, `{"a":"mid"}`, `A must be one of "low", "high"`},
		{`{"properties":{"a":{"const":3}}}`, `{"a":4}`, `A must be 3`},
		{`{"properties":{"a":{"minProperties":1}}}`, `{"a":{}}`, `A must have at least 1 field`},
		{`{"properties":{"a":{"maxProperties":1}}}`, `{"a":{"b":1,"c":2}}`, `A must have at most 1 field`},
		{`{"properties":{"a":{"items":{"type":"integer"}}}}`, `{"a":[1,2.5]}`, "Item 2 of a must be an integer, found a number"},
		{`{"properties":{"a":{"contains":{"const":1}}}}`, `{"a":[2]}`, "A must have an item of the wanted form"},
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":1}`, "A must be null or a string, found a number"},
		{`{"properties":{"a":false}}`, `{"a":1}`, "A is not allowed here"},
		{`{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":"s"}`, "A is not allowed here"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `The payload needs the field "b" beside "a"`},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, `The payload must not have a field with the name "abc"`},
		{`{"properties":{"a":{"format":"date-time"}}}`, `{"a":"today"}`, "A must be a time such as 2026-03-01T12:00:00Z"},
		{`{"properties":{"a":{"format":"semver"}}}`, `{"a":"1"}`, "A must be a valid semver"},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number","minimum":5}]}}}`, `{"a":3}`, "A must be at least 5"},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"boolean"}]}}}`, `{"a":3}`, "A has none of the allowed forms, or more than one of them"},
		{`{"oneOf":[{"properties":{"t":{"const":"a"},"n":{"maximum":1}}},{"properties":{"t":{"const":"b"}}}]}`, `{"t":"a","n":2}`, "N must be at most 1"},
		{`{"properties":{"a":{"minimum":1,"x-message":"Use 1 or more"}}}`, `{"a":0}`, "Use 1 or more"},
		{`{"properties":{"a":{"minimum":1,"maximum":2,"x-message":{"maximum":"Not more than two"}}}}`, `{"a":3}`, "Not more than two"},
		{`{"required":["a"],"properties":{"a":{"x-message":{"required":"Say a"}}}}`, `{}`, "Say a"},
		{`{"required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"title":"Number of frames"}}}`, `{}`, "Number of frames is required"},
		{`{"$id":"https://a.example/s.json","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"title":"Size","minimum":2}}}`, `{"a":1}`, "Size must be at least 2"},
		{`{"properties":{"a":{"maximum":100000000000000000000}}}`, `{"a":100000000000000000001}`, "A must be at most 100000000000000000000"},
	} {
		got := compiled(t, tt.schema).CheckPayload([]byte(tt.payload))
		if len(got) != 1 || got[0].Detail != tt.want {
			t.Errorf("schema %s: mistakes of %s: %+v, want only %q", tt.schema, tt.payload, got, tt.want)
		}
	}
}

func TestCompile_Mistakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"syntax", "{\n  \"type\": }", `test.json:2:11: the schema is not JSON: invalid character '}' looking for beginning of value`},
		{"the end is missing", `{"type": "object"`, "test.json:1:18: the schema is not JSON: unexpected EOF"},
		{"a type", "{\n \"properties\": {\"a\": {\"type\": \"strin\"}}}", `test.json:2:23: /properties/a/type: Type must be one of "array"`},
		{"a wrong bound", `{"minLength": -1}`, `test.json:1:2: /minLength: `},
		{"a misspelled keyword", "{\"properties\": {\n\t\"a\": {\"minimun\": 1}}}", `test.json:2:8: /properties/a/minimun: unknown keyword "minimun", did you mean "minimum"?`},
		{"a format", `{"format": "data-time"}`, `test.json:1:2: /format: unknown format "data-time", did you mean "date-time"?`},
		{"another document", `{"$ref": "https://example.com/s.json"}`, `test.json:1:2: /$ref: "https://example.com/s.json": other documents are not read: put the schema under $defs`},
		{"a file", `{"$ref": "file:///etc/passwd"}`, `put the schema under $defs`},
		{"a reference to nothing", `{"$ref": "#/$defs/a"}`, `test.json:1:2: /$ref: "#/$defs/a" does not exist in this schema`},
		{"a pattern", `{"pattern": "("}`, `/pattern`},
		{"a message", `{"x-message": 3}`, "test.json:1:2: /x-message: want a sentence"},
		{"a message for nothing", `{"x-message": {"minimun": "a"}}`, `did you mean "minimum"?`},
		{"a unit", `{"x-unit": 3}`, `want the unit as a singular noun, such as "second"`},
		{"too large", `{"description": "` + strings.Repeat("a", schema.BytesMax) + `"}`, "test.json:1:1: schema of 65555 bytes: at most 65536 bytes are allowed"},
	} {
		_, err := schema.Compile("test.json", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: the error is %v, want %q in it", tt.name, err, tt.want)
		}
	}
}

func TestCompile_KeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"discriminator": {"propertyName": "t"}, "x-internal": 1, "properties": {"minimun": {}, "format": {"const": "x"}}, "enum": [{"minimun": 1, "format": "x"}]}`)
	if m := s.CheckPayload([]byte(`{"minimun": 1, "format": "x"}`)); m != nil {
		t.Errorf("mistakes %+v, want none", m)
	}
}

func TestCheckPayload_AtMostSoManyMistakes(t *testing.T) {
	t.Parallel()
	s := compiled(t, `{"items": {"type": "string"}}`)
	m := s.CheckPayload([]byte("[" + strings.Repeat("1,", 200) + "1]"))
	if len(m) != redrive.PayloadMistakesMax {
		t.Fatalf("%d mistakes, want %d", len(m), redrive.PayloadMistakesMax)
	}
	if m[0].Pointer != "/0" || m[10].Pointer != "/10" {
		t.Errorf("the first and the eleventh mistake are at %s and %s, want /0 and /10", m[0].Pointer, m[10].Pointer)
	}
}

// A payload with very many mistakes takes about as long as one without.
func TestCheckPayload_ManyMistakesTakeLittleTime(t *testing.T) {
	t.Parallel()
	s := compiled(t, strings.Replace(render, `"maxItems": 3`, `"maxItems": 30000`, 1))
	good, bad := clips(20_000, `{"image":"http://a/","text":"","duration":1}`), clips(20_000, `{}`)
	quick := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			s.CheckPayload([]byte(good))
		}
	})
	slow := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			s.CheckPayload([]byte(bad))
		}
	})
	if slow.NsPerOp() > 20*quick.NsPerOp() {
		t.Errorf("a payload with 60,000 mistakes takes %d ms, one without %d ms; want at most 20 times as long",
			slow.NsPerOp()/1e6, quick.NsPerOp()/1e6)
	}
}

func FuzzCheckPayload(f *testing.F) {
	f.Add(`{"timeline":{"clips":[{"image":"x","text":"","duration":0}]}}`)
	f.Add(`{"timeline":{"clips":[[[[{"a":1,"a":2}]]]]}}`)
	f.Add(`"\u0000" 1`)
	f.Add(strings.Repeat(`[{"a":`, 2000))
	s, err := schema.Compile("render.json", []byte(render))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		first := s.CheckPayload([]byte(payload))
		if diff := cmp.Diff(first, s.CheckPayload([]byte(payload))); diff != "" {
			t.Fatalf("the second check differs:\n%s", diff)
		}
		for _, m := range first {
			if strings.ContainsAny(m.Detail, "\n\r\x00\x1b") || len(m.Detail) > 1000 {
				t.Fatalf("the sentence is %q, want one short line", m.Detail)
			}
		}
	})
}
