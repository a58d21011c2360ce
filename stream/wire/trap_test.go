package wire_test

import (
	"fmt"
	"testing"

	"github.com/redrive/redrive/stream/wire"
)

// Trap: a message that has had more retries elsewhere than it may have has none left, and a wild number is refused.
//
// part of: S1
func TestKafkaTrap11_MoreRetriesThanAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ had, most, want int }{{0, 5, 5}, {5, 5, 0}, {7, 5, 0}, {0, 0, 0}, {0, 1_000_000, 1_000_000}} {
		task, err := wire.Read(record(withMetadata(fmt.Sprintf(`"retry_count":%d,"max_retry":%d`, c.had, c.most))), now, rules)
		if n, ok := task.RetriesLeft(); err != nil || !ok || n != c.want {
			t.Errorf("retry_count %d of %d: %d retries are left (%v), want %d", c.had, c.most, n, err, c.want)
		}
	}
}
