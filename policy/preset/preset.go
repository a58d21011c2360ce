// Package preset contains the policy files that are part of redrive. Each was made for one
// kind of system. Package policyfile reads them.
package preset

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the presets in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("preset: the embedded files can always be listed: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Text returns the policy file of a preset. It returns false if there is no preset with
// this name.
func Text(name string) ([]byte, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	text, err := files.ReadFile(name + ".yaml")
	return text, err == nil
}
