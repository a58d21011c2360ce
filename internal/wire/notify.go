package wire

import (
	"encoding/json"

	"github.com/redrive/redrive/store"
)

// NotifyRules are the rules of notifications in force.
type NotifyRules struct {
	store.NotifyRules
	Rules json.RawMessage `json:"rules,omitempty"`
	// Same says whether the rules of the configuration are those in force; nil without such rules.
	Same *bool `json:"same_as_configuration,omitempty"`
}
