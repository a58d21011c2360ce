package policyfile

import _ "embed"

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a policy file, for completion and
// checks in editors. The reader finds further mistakes that a schema cannot express.
func Schema() []byte { return []byte(schema) }
