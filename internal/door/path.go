// Package door checks the paths of doors: kinds of jobs under a path of their own on the HTTP server.
package door

import (
	"fmt"
	"slices"
	"strings"
)

// PathMax is the largest number of bytes of the path of a door.
const PathMax = 200

// own are the first words of the paths of the server itself.
var own = [...]string{"api", "ui", "problems", "healthz", "readyz", "metrics"}

// CheckPath returns an error unless a door can have the path.
func CheckPath(path string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	words := strings.Split(path, "/")
	if len(path) > PathMax {
		return fmt.Errorf("the path has %d bytes; at most %d are allowed", len(path), PathMax)
	}
	if len(words) < 2 || words[0] != "" || slices.ContainsFunc(words[1:], func(w string) bool { return strings.Trim(w, ".") == "" || strings.Trim(w, letters) != "" }) {
		return fmt.Errorf("the path %q must be words of letters, digits, '.', '_' and '-', each after a slash, such as /jobs", path)
	}
	if slices.Contains(own[:], words[1]) {
		return fmt.Errorf("the path %s begins with /%s, which belongs to the server itself", path, words[1])
	}
	return nil
}
