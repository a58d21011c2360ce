package notify_test

import (
	"fmt"

	"github.com/redrive/redrive/notify"
)

func ExampleRules_Validate() {
	rules := notify.Rules{
		Channels: map[string]notify.Channel{"mail": {Type: notify.Mail}},
		Rules:    []notify.Rule{{On: []notify.Event{"batch.raedy"}, Channel: "mail", To: []string{"ops@example.com"}}},
	}
	fmt.Println(rules.Validate())
	// Output: rules[0].on[0]: the event "batch.raedy" is not known, did you mean "batch.ready"?
}
