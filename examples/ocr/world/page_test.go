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
		t.Errorf("got text %q, words %+v, error %v; want the drawn text", got, words, err)
	}
	if _, err := Page("a"); err == nil {
		t.Error("Page drew a small letter, want an error")
	}
	if _, _, err := recognise(page[:len(page)/2]); err == nil {
		t.Error("an incomplete picture was read, want an error")
	}
}
