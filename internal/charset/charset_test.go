package charset_test

import (
	"testing"

	"golang.org/x/text/encoding/unicode"

	"github.com/redrive/redrive/internal/charset"
)

// part of: T2
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"shift_jis", "\x83\x47\x83\x89\x81\x5b: x", "エラー: x"},
		{"windows-1252", "\xdcbersicht fehlt", "Übersicht fehlt"},
		{"IBM850", "\x9abersicht fehlt", "Übersicht fehlt"},
		{"gbk", "\xb4\xed\xce\xf3", "错误"},
		{"koi8-r", "\xef\xdb\xc9\xc2\xcb\xc1", "Ошибка"},
		{"windows-1252", "Übersicht", "Übersicht"}, // some lines of a program may be UTF-8 anyway
		{"", "\xdcbersicht", "\xdcbersicht"},
	} {
		if got := charset.Decode(tt.name, []byte(tt.text)); string(got) != tt.want {
			t.Errorf("%q in %q is %q, want %q", tt.text, tt.name, got, tt.want)
		}
	}
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().Bytes([]byte("Ошибка"))
	if got := charset.Decode("utf-16le", utf16); err != nil || string(got) != "Ошибка" {
		t.Errorf("a text in UTF-16 is %q, want Ошибка: %v", got, err)
	}
	for _, name := range []string{"latin1", "utf8", "cp1252", "IBM437", "euc-kr"} {
		if _, err := charset.Find(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "klingon", "iso-2022-cn"} {
		if _, err := charset.Find(name); err == nil {
			t.Errorf("the encoding %q is found, want an error", name)
		}
	}
}
