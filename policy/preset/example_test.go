package preset_test

import (
	"fmt"

	"github.com/redrive/redrive/policy/preset"
)

func ExampleNames() {
	fmt.Println(preset.Names())
	// Output:
	// [chat dev ocr render transcribe watermark]
}
