package scan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/scan"
)

// A buffer that is used again must give the tokens of its new text, also when texts of the same
// length, short and long texts follow each other.
func TestRead_GivesTheTokensOfItsText(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", "http.503", "http.404", strings.Repeat("connection refused ", 10), strings.Repeat("connection granted ", 10),
		strings.Repeat("password=hunter22hunter22 of 10.0.0.7 ", 10), strings.Repeat("disk 7 is full\n", 1000),
	}
	for range 3 {
		for _, text := range texts {
			for range 2 {
				b := scan.Read(text)
				if want := scan.Tokens(nil, text); !slices.Equal(b.Tokens, want) {
					t.Errorf("the %d tokens of the text %.40q are those of another text, want its own %d", len(b.Tokens), text, len(want))
				}
				b.Room = append(b.Room, text[:min(len(text), 10)]...)
				b.Release()
			}
		}
	}
}
