package storetest_test

import (
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The design of batches and notices names traps by numbers: ways in which a batch ends twice, never or early, and in which
// people hear of something twice, never or too often. A test of each has the number in its name, as
// B2_Trap5_ALateCommitEndsTheBatch.
func TestEachTrapOfBatchesAndNoticesHasATest(t *testing.T) {
	t.Parallel()
	batches := regexp.MustCompile(`(B)\d_Trap(\d+)_[A-Z]`)
	notices := regexp.MustCompile(`(N2|N3|F10|F11)_Trap(\d+)_[A-Z]`)
	found := make(map[string]bool)
	root := os.DirFS("../..")
	// Other designs have traps with the same numbers, in the tests of the server.
	for dir, name := range map[string]*regexp.Regexp{"store": nil, "internal/sqlstore": nil, "tests/processes": nil, "examples": nil,
		"server": batches, "notify": notices, "notified_test.go": notices} {
		err := fs.WalkDir(root, dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "store/storetest/") {
				return err
			}
			content, err := fs.ReadFile(root, path)
			for _, of := range []*regexp.Regexp{batches, notices} {
				if name != nil && name != of {
					continue
				}
				for _, m := range of.FindAllStringSubmatch(string(content), -1) {
					found[m[1][:1]+m[2]] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n <= 28; n++ {
		number := strconv.Itoa(n)
		ok := found["B"+number]
		if n >= 16 && n <= 26 {
			ok = found["N"+number] || found["F"+number]
		}
		if !ok {
			t.Errorf("no test has Trap%d_ in its name", n)
		}
	}
}
