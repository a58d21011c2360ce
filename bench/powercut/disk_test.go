package powercut

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// after returns the disk after operations.
func after(ops ...op) *disk {
	d := newDisk()
	for i := range ops {
		d.do(&ops[i])
	}
	return d
}

// seen returns every image of many cuts, as texts. A file is NAME=CONTENTS, and zeros are dots.
func seen(d *disk) map[string]bool {
	found := make(map[string]bool)
	for n := range 2000 {
		img, _ := d.cut(rand.New(rand.NewPCG(1, uint64(n))))
		var text strings.Builder
		for _, name := range []string{"a", "b", "ledger-1"} {
			if data, ok := img[name]; ok {
				text.WriteString(name + "=" + strings.ReplaceAll(string(data), "\x00", ".") + " ")
			}
		}
		found[strings.TrimSpace(text.String())] = true
	}
	return found
}

func TestACutKeepsWhatWasFlushedAndPartsOfTheRest(t *testing.T) {
	t.Parallel()
	made := []op{{kind: create, file: 1, name: "a"}, {kind: write, file: 1, data: []byte("old")}, {kind: flush, file: 1}, {kind: flushDir}}
	sector := strings.Repeat("x", 512)
	for _, c := range []struct {
		name string
		ops  []op
		want []string // states that must be seen
		not  []string // states that must not be seen
	}{
		{"flushed", nil, []string{"a=old"}, []string{"", "a="}},
		{"not flushed", []op{{kind: write, file: 1, data: []byte("new")}}, []string{"a=old", "a=new"}, []string{"a=", "a=nld"}},
		{"flushed later", []op{{kind: write, file: 1, data: []byte("new")}, {kind: flush, file: 1}}, []string{"a=new"}, []string{"a=old"}},
		{"two writes of one sector", []op{{kind: write, file: 1, data: []byte("1")}, {kind: write, file: 1, off: 1, data: []byte("2")}},
			[]string{"a=old", "a=1ld", "a=12d"}, []string{"a=o2d"}},
		{"two sectors", []op{{kind: write, file: 1, data: []byte("new" + strings.Repeat(".", 509) + "z")}, {kind: truncate, file: 1, off: 3}},
			[]string{"a=old", "a=new"}, nil},
		{"torn", []op{{kind: write, file: 1, data: []byte(sector + sector)}},
			[]string{"a=old", "a=" + sector + sector, "a=old" + strings.Repeat(".", 509) + sector}, nil},
		{"a name without a flush", []op{{kind: create, file: 2, name: "b"}, {kind: write, file: 2, data: []byte("new")}, {kind: flush, file: 2}},
			[]string{"a=old", "a=old b=new"}, []string{"a=old b="}},
		{"a flushed name", []op{{kind: create, file: 2, name: "b"}, {kind: flushDir}}, []string{"a=old b="}, []string{"a=old"}},
		{"removed", []op{{kind: unlink, name: "a"}}, []string{"a=old", ""}, nil},
		{"removed and made again", []op{{kind: unlink, name: "a"}, {kind: create, file: 2, name: "a"}, {kind: write, file: 2, data: []byte("2")}, {kind: flush, file: 2}},
			[]string{"a=old", "", "a=2"}, []string{"a="}},
		{"renamed", []op{{kind: rename, name: "a", to: "b"}}, []string{"a=old", "b=old"}, []string{"", "a=old b=old"}},
		{"a ledger", []op{{kind: create, file: 2, name: "ledger-1"}, {kind: write, file: 2, data: []byte("line")}},
			[]string{"a=old ledger-1=line"}, []string{"a=old", "a=old ledger-1="}},
	} {
		found := seen(after(slices.Concat(made, c.ops)...))
		for _, want := range c.want {
			if !found[want] {
				t.Errorf("%s: no power cut left the content %q, want at least one", c.name, want)
			}
		}
		for _, not := range c.not {
			if found[not] {
				t.Errorf("%s: a cut leaves %q, which no disk does", c.name, not)
			}
		}
	}
}
