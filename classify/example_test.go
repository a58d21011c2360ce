package classify_test

import (
	"errors"
	"fmt"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// A classifier with a rule of its own, beside the built-in ones.
func ExampleNewClassifier() {
	c, problems := classify.NewClassifier(classify.Rules{Text: `
shop.stock StockMissing strong
	(article|item) ...2 sold out
`})
	for _, p := range problems {
		fmt.Println(p.Path, p.Message)
	}
	for _, text := range []string{"item 7 is sold out", "connection refused"} {
		e := failure.Of(errors.New(text))
		got := c.Classify(&e, "order")
		fmt.Println(got.Class, got.Rule, got.Saw)
	}
	// Output:
	// StockMissing policy.shop.stock item 7 is sold out
	// TemporaryServiceError transport.refused connection refused
}
