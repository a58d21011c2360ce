//go:build crashpoint && !unix

package crashpoint

import "os"

// kill ends the process without a word and does not come back. Without signals
// an exit is the nearest to it: no deferred call runs.
func kill() { os.Exit(137) }
