package webhook_test

import (
	"fmt"
	"log"
	"time"

	"github.com/redrive/redrive/notify/webhook"
)

// A receiver compares the header "webhook-signature" with the signature that it computes itself.
func ExampleSign() {
	secret, err := webhook.ParseSecret("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	if err != nil {
		log.Fatal(err)
	}
	body := []byte(`{"type":"job.dead","id":"42"}`)
	fmt.Println(webhook.Sign(secret, "msg_42", time.Unix(1_700_000_000, 0), body))
	fmt.Println(secret)
	// Output:
	// v1,Oa6qs4RTOlPfUo9XkUANhNhp9FBi/CSPtzgpQVqXaNI=
	// [secret]
}
