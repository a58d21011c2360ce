package weigh_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
	"github.com/redrive/redrive/internal/weigh"
)

// A model gives the weights that it was made of, and a damaged one is refused.
func TestModel(t *testing.T) {
	t.Parallel()
	bag := &weigh.Bag{}
	bag.Reset(nil)
	words(t, bag, "odd frame")
	var weights [len(weigh.Classes)]int8
	weights[0], weights[1] = 48, -48
	hash := bag.Features[0].Hash
	file, err := weigh.Encode([len(weigh.Classes)]int{}, map[uint64][len(weigh.Classes)]int8{hash: weights}, []uint64{hash})
	if err != nil {
		t.Fatal(err)
	}
	m, err := weigh.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	bag.Reset(m)
	words(t, bag, "odd frame, odd")
	var got weigh.Result
	bag.Weigh(&got)
	if len(bag.Features) != 1 || bag.Features[0].Name != "odd" || got.Class != 0 || got.Known != 1 || got.Share[0] <= got.Share[1] {
		t.Errorf("got the features %+v and %+v, want one feature, odd, that is for class 0", bag.Features, got)
	}
	if points := got.Points(bag, 0, 0, 1); points <= 0 {
		t.Errorf("odd has %d points for class 0, want more than 0", points)
	}
	file[len(file)-1] ^= 1
	if _, err := weigh.Decode(file); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged file: got the error %v, want one that says so", err)
	}
}

func words(t *testing.T, bag *weigh.Bag, text string) {
	t.Helper()
	b, err := phrase.NewBuilder()
	if err != nil {
		t.Fatal(err)
	}
	var m phrase.Matcher
	m.Run(b.Freeze(), text, scan.Tokens(nil, text))
	bag.Words(&m, make([]int8, len(m.Syms)), 0, 0)
}
