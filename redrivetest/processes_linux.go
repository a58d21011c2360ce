package redrivetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// processesWith returns the running processes whose environment has the variable. Child
// processes inherit the variable.
func processesWith(variable string) (found []string) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			continue
		}
		dir := filepath.Dir(path)
		command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		args := strings.ReplaceAll(strings.TrimRight(string(command), "\x00"), "\x00", " ")
		found = append(found, fmt.Sprintf("%s (process %s)", args, filepath.Base(dir)))
	}
	return found
}
