package world

import "testing"

// part of: Y3
func TestY3_APageIsReadAsItWasDrawn(t *testing.T) {
	t.Parallel()
	want := "ABCDEFGHIJKLM NOPQRSTUVWXYZ\n\n0123456789 .:,-\nTOTAL: 1.50"
	page, err := Page(want)
	if err != nil {
		t.Fatal(err)
	}
	got, words, err := recognise(page)
	if err != nil || got != want || len(words) != 6 || words[5].text != "1.50" {
		t.Errorf("%q, %+v, %v", got, words, err)
	}
	if _, err := Page("a"); err == nil {
		t.Error("there is a glyph for a small letter")
	}
	if _, _, err := recognise(page[:len(page)/2]); err == nil {
		t.Error("half a page is read")
	}
}
