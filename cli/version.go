package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	sqlite3 "modernc.org/sqlite/lib"
)

type versionCmd struct{ jsonFlag }

func (v *versionCmd) Run(a *app) error {
	version := buildVersion()
	if v.JSON {
		return a.printJSON(map[string]string{"redrive": version, "go": runtime.Version(), "sqlite": sqlite3.SQLITE_VERSION})
	}
	_, err := fmt.Fprintf(a.out, "redrive %s (%s, SQLite %s)\n", version, runtime.Version(), sqlite3.SQLITE_VERSION)
	return err
}

// buildVersion returns the version that the go command has written into the program: a
// release or a commit.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
