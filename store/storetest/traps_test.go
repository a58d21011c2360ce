package storetest_test

import (
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The design of batches names traps by numbers: ways in which a batch ends twice, never or early. A test
// of each has the number in its name, as B2_Trap5_ALateCommitEndsTheBatch. The other numbers of the list
// are about notices.
func TestEachTrapOfBatchesHasATest(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`B\d_Trap(\d+)_[A-Z]`)
	found := make(map[int]string)
	root := os.DirFS("../..")
	for _, dir := range []string{"store", "internal/sqlstore", "tests/processes", "server", "examples"} {
		err := fs.WalkDir(root, dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "store/storetest/") {
				return err
			}
			content, err := fs.ReadFile(root, path)
			for _, m := range name.FindAllStringSubmatch(string(content), -1) {
				n, _ := strconv.Atoi(m[1]) // digits, by the pattern
				found[n] = path
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 27, 28} {
		if found[n] == "" {
			t.Errorf("no test has Trap%d_ in its name", n)
		}
	}
}
