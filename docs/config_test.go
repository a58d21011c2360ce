package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/config"
)

// yamlBlocks returns the two YAML examples of config.md: the complete configuration and the
// default values.
func yamlBlocks(t *testing.T) (complete, defaults string) {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, "config.md"), -1)
	if len(blocks) != 2 {
		t.Fatalf("config.md has %d YAML examples, want 2: the complete configuration and the defaults", len(blocks))
	}
	return blocks[0][1], blocks[1][1]
}

func TestConfig_TheCompleteExampleLoads(t *testing.T) {
	t.Parallel()
	complete, _ := yamlBlocks(t)
	c, err := config.Parse("config.md", []byte(complete), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Kinds) != 2 || len(c.Queues) != 2 || c.Kinds["send_mail"].Retry.MaxRetries != 0 {
		t.Errorf("the complete example of config.md has the wrong kinds or queues: %+v", c)
	}
	for _, key := range knownKeys(t) {
		name := key[strings.LastIndexByte(key, '.')+1:]
		if !regexp.MustCompile(`\b` + name + `:`).MatchString(complete) {
			t.Errorf("the complete example of config.md does not use the key %s", key)
		}
	}
}

func TestConfig_TheDefaultsAreTheDefaults(t *testing.T) {
	t.Parallel()
	_, defaults := yamlBlocks(t)
	dir := t.TempDir()
	written, err := config.Parse("config.md", []byte(defaults), dir)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := config.Parse("bare", []byte("kinds: {greet: {command: [echo, hello]}}"), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bare, written); diff != "" {
		t.Errorf("the defaults in config.md differ from the code (-code +config.md):\n%s", diff)
	}
}

func TestConfig_EveryKeyIsInTheReferenceAndNoOther(t *testing.T) {
	t.Parallel()
	documented := slices.Sorted(maps.Keys(reference(t)))
	if diff := cmp.Diff(knownKeys(t), documented); diff != "" {
		t.Errorf("the keys in config.md differ from the code (-code +config.md):\n%s", diff)
	}
}

// The value column of each key in config.md has the same text as the error message for a
// wrong value.
func TestConfig_TheReferenceNamesEveryBound(t *testing.T) {
	t.Parallel()
	for key, value := range reference(t) {
		path := strings.ReplaceAll(key, "NAME", "x")
		_, err := config.Parse("f", []byte(nested(path, "[[]]")), "/")
		if err == nil {
			t.Errorf("key %s: a list in a list was accepted, want an error", key)
			continue
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			_, wanted, ok := strings.Cut(line, path+" must be ")
			if !ok {
				continue
			}
			wanted, _, _ = strings.Cut(wanted, ", found")
			wanted = strings.TrimSuffix(wanted, " such as 256KiB")
			if !strings.HasPrefix(wanted, value) {
				t.Errorf("key %s: config.md says %q, but the error message says %q", key, value, wanted)
			}
		}
	}
}

// nested returns YAML that sets the value at a path such as a.b.c.
func nested(path, value string) string {
	parts := strings.Split(path, ".")
	return strings.Join(parts, ": {") + ": " + value + strings.Repeat("}", len(parts)-1)
}

// reference returns the text of the value column for each key in the tables of config.md.
func reference(t *testing.T) map[string]string {
	t.Helper()
	rows := regexp.MustCompile("(?m)^\\| `([a-z_NAME.]+)` \\| ([^|]+?) \\|.*\\|.*\\|$").FindAllStringSubmatch(read(t, "config.md"), -1)
	keys := map[string]string{}
	for _, row := range rows {
		keys[row[1]] = row[2]
	}
	return keys
}

// knownKeys returns all keys that a configuration can have, from the source of package
// config.
func knownKeys(t *testing.T) []string {
	t.Helper()
	sections := map[string]string{
		"config": "", "postgres": "postgres.", "log": "log.", "limits": "limits.", "queues": "queues.NAME.", "kind": "kinds.NAME.", "retry": "kinds.NAME.retry.", "owner": "kinds.NAME.owner.",
		"retention": "retention.", "server": "server.", "proxy": "server.proxy.", "tls": "server.tls.", "door": "server.doors.NAME.", "cronJob": "cron.NAME.",
		"stream": "streams.NAME.", "streamTLS": "streams.NAME.tls.", "streamSASL": "streams.NAME.sasl.",
		"streamMarks": "streams.NAME.marks.", "streamDocuments": "streams.NAME.documents.",
		"notify": "notify.", "channels": "notify.channels.NAME.", "smtp": "notify.channels.NAME.smtp.", "rule": "notify.rules.", "match": "notify.rules.match.", "digest": "notify.rules.digest.",
	}
	files, err := filepath.Glob("../internal/config/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for _, key := range fieldsIn(f) {
				prefix, ok := sections[f.Name.Name]
				if !ok {
					t.Fatalf("%s: function %s has keys of a section that this test does not know; add it to sections", name, f.Name.Name)
				}
				keys = append(keys, prefix+key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// fieldsIn returns the names in the []field literals of a function.
func fieldsIn(f *ast.FuncDecl) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		list, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		array, ok := list.Type.(*ast.ArrayType)
		if !ok || fmt.Sprint(array.Elt) != "field" {
			return true
		}
		for _, e := range list.Elts {
			name, err := strconv.Unquote(e.(*ast.CompositeLit).Elts[0].(*ast.BasicLit).Value)
			if err == nil {
				names = append(names, name)
			}
		}
		return true
	})
	return names
}
