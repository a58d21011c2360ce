package schema_test

import (
	"fmt"

	"github.com/redrive/redrive/schema"
)

func ExampleCompile() {
	render, err := schema.Compile("render.json", []byte(`{
		"type": "object",
		"required": ["file"],
		"properties": {"seconds": {"title": "length", "type": "number", "minimum": 1, "x-unit": "second"}}
	}`))
	if err != nil {
		panic(err)
	}
	for _, payload := range []string{`{"file": "a.mp4", "seconds": 0.5}`, `{"seconds": 5}`} {
		for _, mistake := range render.CheckPayload([]byte(payload)) {
			fmt.Println(mistake.Pointer, mistake.Detail)
		}
	}
	// Output:
	// /seconds length must be at least 1 second
	// /file File is required
}
