package policyfile

import _ "embed"

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a policy file. Editors
// complete and check files by it; the reader finds what it cannot say.
func Schema() []byte { return []byte(schema) }
