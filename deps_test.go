package redrive_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/redrive/redrive"

// goPackage is the part of go list's output that the tests use.
type goPackage struct {
	ImportPath string
	Imports    []string
}

// listDeps returns the packages and all their dependencies.
func listDeps(t *testing.T, packages ...string) (listed []goPackage) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-json=ImportPath,Imports"}, packages...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run the command %v: %v", cmd, err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return listed
		} else if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, p)
	}
}

// within reports whether the first path is equal to the second, or is the path of a package below
// it.
func within(importPath, tree string) bool {
	return importPath == tree || strings.HasPrefix(importPath, tree+"/")
}

func TestDeps_WhatImportingRedriveMustNotPullIn(t *testing.T) {
	t.Parallel()
	forbidden := map[string]string{
		module + "/store/sqlite":        "drivers are the user's choice",
		module + "/store/memory":        "it is for tests",
		module + "/redrivetest":         "test helpers stay out of programs",
		module + "/cli":                 "the command is a user of the library",
		module + "/internal/config":     "files are read by the command",
		"modernc.org":                   "a driver of 10 MB",
		"zombiezen.com/go/sqlite":       "a driver",
		"github.com/jackc/pgx":          "a driver",
		"github.com/pressly/goose":      "migrations belong to drivers",
		"database/sql":                  "no SQL type crosses the store's contract",
		"github.com/alecthomas/kong":    "the command line",
		"github.com/goccy/go-yaml":      "files are read by the command",
		"github.com/expr-lang/expr":     "conditions come with policy files",
		"github.com/santhosh-tekuri":    "a JSON Schema is for tests and editors",
		"github.com/google/go-cmp":      "test helpers stay out of programs",
		"go.uber.org/goleak":            "test helpers stay out of programs",
		"pgregory.net/rapid":            "test helpers stay out of programs",
		"testing":                       "it registers flags in programs",
		"net/http":                      "the engine speaks to its store only",
		"github.com/prometheus":         "the server reports metrics, not the library",
		"html/template":                 "it keeps the linker from removing dead code",
		"github.com/google/uuid":        "ids are numbers",
		"github.com/rogpeppe":           "test helpers stay out of programs",
		"github.com/dustin/go-humanize": "a dependency of a driver",
	}
	for _, p := range listDeps(t, module) {
		for tree, reason := range forbidden {
			if within(p.ImportPath, tree) {
				t.Errorf("package redrive depends on %s, want no such dependency: %s", p.ImportPath, reason)
			}
		}
	}
}

// roomsOfFailure are the packages that failure is made of, the leaves first.
var roomsOfFailure = []string{"internal/scan", "internal/plaintext", "internal/phrase", "internal/lines", "internal/redact", "internal/fingerprint"}

func TestDeps_TheCoreIsPure(t *testing.T) {
	t.Parallel()
	pure := append([]string{"failure", "classify", "internal/weigh", "backoff", "policy", "job", "event", "internal/scan", "internal/plaintext", "internal/canonical", "internal/human", "internal/decide"}, roomsOfFailure...)
	forbidden := map[string]string{
		"os":           "no I/O",
		"os/exec":      "no I/O: subprocesses are read by methods",
		"os/signal":    "no I/O",
		"io/ioutil":    "no I/O",
		"net":          "no I/O",
		"net/http":     "no I/O: statuses are read by methods",
		"database/sql": "no I/O",
		"log":          "no I/O: it writes to a global logger",
		"math/rand":    "randomness is an argument",
		"math/rand/v2": "randomness is an argument",
		"crypto/rand":  "randomness is an argument",
		"unsafe":       "never needed",
	}
	var paths []string
	for _, name := range pure {
		paths = append(paths, module+"/"+name)
	}
	for _, p := range listDeps(t, paths...) {
		if !within(p.ImportPath, module) {
			continue
		}
		if !slices.Contains(paths, p.ImportPath) {
			t.Errorf("the core depends on %s, which is not in the list of core packages; want dependencies only on packages of this list", p.ImportPath)
		}
		for _, imported := range p.Imports {
			if reason, bad := forbidden[imported]; bad {
				t.Errorf("package %s imports %s, want no such import: %s", p.ImportPath, imported, reason)
			}
		}
	}
}

// Packages depend only on packages that come earlier in the flow (ARCHITECTURE.md), never on later
// ones.
func TestDeps_PointAlongTheFlow(t *testing.T) {
	t.Parallel()
	mayImport := map[string][]string{
		"internal/scan":        {},
		"internal/plaintext":   {},
		"internal/phrase":      {"internal/scan"},
		"internal/lines":       {"internal/scan", "internal/phrase"},
		"internal/redact":      {"internal/scan", "internal/plaintext"},
		"internal/fingerprint": {"internal/scan", "internal/plaintext", "internal/phrase", "internal/lines"},
		"failure":              roomsOfFailure,
		"internal/weigh":       {"internal/scan", "internal/phrase"},
		"backoff":              {},
		"internal/guard":       {},
		"job":                  {"internal/canonical", "failure"},
		"policy":               {"failure", "classify", "backoff", "job", "internal/canonical", "internal/human"},
		"internal/decide":      {"failure", "classify", "backoff", "policy", "job", "internal/canonical", "internal/human"},
		"retry":                {"failure", "classify", "backoff"},
		"event":                {"job", "internal/canonical", "failure"},
		"notify":               {"failure", "job", "internal/canonical", "internal/suggest"},
		"store":                {"notify", "internal/suggest", "internal/guard", "internal/jsonpatch", "job", "internal/canonical", "event", "failure"},
		"guard":                {"notify", "internal/suggest", "internal/guard", "internal/jsonpatch", "job", "internal/canonical", "event", "failure", "store"},
		"internal/human":       {},
		"internal/cron":        {"internal/human"},
		"internal/keeper":      {"notify", "internal/suggest", "internal/guard", "internal/jsonpatch", "job", "internal/canonical", "event", "failure", "store", "internal/cron", "internal/human"},
		"internal/words": {"notify", "internal/guard", "internal/jsonpatch", "failure", "classify", "job", "internal/canonical", "event", "backoff", "policy", "policy/preset", "policy/policyfile", "store",
			"internal/cron", "internal/human", "internal/suggest", "internal/yamlfile"},
		"internal/wire": {"notify", "internal/guard", "internal/jsonpatch", "failure", "classify", "job", "internal/canonical", "event", "backoff", "policy", "policy/preset", "policy/policyfile", "store",
			"internal/cron", "internal/human", "internal/suggest", "internal/yamlfile", "internal/words"},
		"internal/engine": {"notify", "internal/suggest", "internal/guard", "internal/jsonpatch", "failure", "job", "internal/canonical", "event", "store", "internal/proc", "internal/tempdir", "internal/testing/crashpoint", "internal/human"},
	}
	for name, allowed := range mayImport {
		if slices.Contains(allowed, "failure") {
			allowed = append(slices.Clip(allowed), roomsOfFailure...)
		}
		if slices.Contains(allowed, "classify") {
			allowed = append(slices.Clip(allowed), "internal/weigh")
		}
		for _, p := range listDeps(t, module+"/"+name) {
			own, ok := strings.CutPrefix(p.ImportPath, module+"/")
			if ok && own != name && !slices.Contains(allowed, own) {
				t.Errorf("package %s depends on %s, want only dependencies in %v", name, own, allowed)
			}
		}
	}
}
