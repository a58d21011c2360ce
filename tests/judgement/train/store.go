package main

import (
	"math"
	"slices"

	"github.com/redrive/redrive/internal/weigh"
)

// least is the smallest weight that is stored, in nats: features with smaller ones change nothing.
const least = 0.12

// encode returns the weights as they are stored.
func (m *model) encode() ([]byte, error) {
	var bias [classes]int
	for k, w := range m.bias {
		bias[k] = int(math.Round(w * weigh.Unit))
	}
	rows := map[uint64][classes]int8{}
	var order []uint64
	most := map[uint64]float64{}
	for hash, id := range m.id {
		var row [classes]int8
		mean := 0.0
		for _, w := range m.w[id] {
			mean += w / float64(classes)
		}
		size := 0.0
		for k, w := range m.w[id] {
			row[k] = int8(max(-127, min(127, math.Round(w*weigh.Unit))))
			size = max(size, math.Abs(w-mean))
		}
		if size < least {
			continue
		}
		rows[hash], most[hash] = row, size
		order = append(order, hash)
	}
	slices.SortFunc(order, func(a, b uint64) int {
		if most[a] != most[b] {
			if most[a] > most[b] {
				return -1
			}
			return 1
		}
		if a < b {
			return -1
		}
		return 1
	})
	return weigh.Encode(bias, rows, order)
}
