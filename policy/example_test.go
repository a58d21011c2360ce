package policy_test

import (
	"errors"
	"fmt"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/policy"
)

func ExamplePolicy_Classify() {
	p := policy.Default()
	e := failure.Of(errors.New("dial tcp 10.0.0.7:443: connect: connection refused"))
	c := p.Classify(&e, "fetch")
	fmt.Println(c.Class)
	fmt.Println(c.Rule)
	// Output:
	// TemporaryServiceError
	// transport.refused
}
