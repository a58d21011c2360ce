package yamlfile

// Limits on the size of any file and on the work to read it.
const (
	// MaxBytes is the size of the largest file that is read, in bytes.
	MaxBytes = 1 << 20

	// The YAML parser needs quadratic time for wide mappings and for blank
	// lines that end a block of text, and quadratic memory for deep nesting,
	// so all three are bounded before it runs.
	maxTokens     = 50_000
	maxDepth      = 32
	maxBlankLines = 100 // the largest allowed number of blank lines in a row
	// maxExpanded is the largest number of values that all aliases together may repeat.
	maxExpanded = 50_000
)
