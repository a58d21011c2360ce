package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are the documents that are compared with the code. Their paths start from this
// folder.
var pages = []string{
	"guarantees.md", "config.md", "classes.md", "operations.md", "policy.md", "cli.md", "postgres.md", "requirements.md", "extending.md", "retry.md", "server.md", "library.md", "coming-from.md", "kafka.md", "notify.md",
	"../ARCHITECTURE.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../SECURITY.md",
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// files returns the text of all files of the repository with these extensions, by path from
// the root.
func files(t *testing.T, extensions ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "node_modules" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		found[filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sources returns the text of all Go files and scripts in the repository.
func sources(t *testing.T) string {
	t.Helper()
	return strings.Join(slices.Collect(maps.Values(files(t, ".go", ".txtar"))), "\n")
}

// A test that a page names as a proof must exist.
func TestTestsNamedByThePagesExist(t *testing.T) {
	t.Parallel()
	code := sources(t)
	named := regexp.MustCompile("`(?:(Test[A-Za-z0-9_]+)|([A-Z][0-9]+_[A-Za-z0-9_]+))`")
	for _, page := range pages {
		for _, match := range named.FindAllStringSubmatch(read(t, page), -1) {
			function, promise := match[1], match[2]
			switch {
			case function != "" && !strings.Contains(code, "func "+function+"("):
				t.Errorf("%s names the test %s, but there is no such test", page, function)
			case promise != "" && !strings.Contains(code, `"`+promise+`"`):
				t.Errorf("%s names the promise %s, but storetest has no such promise", page, promise)
			}
		}
	}
}

// A page names a script by its subtest: "-run Scripts//NAME". The part between the slashes
// stands for the requirements and is left out.
func TestScriptsNamedByThePagesExist(t *testing.T) {
	t.Parallel()
	for _, page := range pages {
		for _, match := range regexp.MustCompile("-run Scripts(/+)([a-z_]+)`").FindAllStringSubmatch(read(t, page), -1) {
			if _, err := os.Stat("../cli/testdata/script/" + match[2] + ".txtar"); err != nil || match[1] != "//" {
				t.Errorf("%s: the command -run Scripts%s%s would run no test", page, match[1], match[2])
			}
		}
	}
}

// fenced matches the code blocks of a page.
var fenced = regexp.MustCompile("(?s)```.*?```")

// A link of a page leads to a file that exists, and, if it names a heading, to a heading that exists.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)
	for _, page := range append([]string{"../README.md"}, pages...) {
		for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			target := page
			if match[1] != "" {
				target = filepath.Join(filepath.Dir(page), match[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s has a link to a file that does not exist: %v", page, err)
			} else if match[2] != "" && !slices.Contains(anchors(read(t, target)), match[2][1:]) {
				t.Errorf("%s links to the heading %s of %s, but there is no such heading", page, match[2], target)
			}
		}
	}
}

// anchors returns the names by which links address the headings of a page.
func anchors(page string) (names []string) {
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	removed := regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		names = append(names, strings.ReplaceAll(removed.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
	}
	return names
}
