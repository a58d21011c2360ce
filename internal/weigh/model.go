package weigh

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
)

// Model has the weights of features. It is read where it is stored, so that opening it costs nothing.
type Model struct {
	bias   [len(Classes)]int32
	checks []byte // two bytes a slot: a part of the feature's hash, 0 for none
	rows   []byte // a signed byte for each class and slot
	mask   uint64
	name   string // its version
}

// Unit is how many steps of a weight are one nat: a weight of Unit makes a class e times as likely.
const Unit = 24

const (
	magic      = "redrive weights\x00"
	version    = 1
	headerSize = len(magic) + 4 + 4 + 4 + 2*len(Classes)
	rowSize    = len(Classes)
	slotsMax   = 1 << 16
)

//go:embed weights.bin
var stored []byte

// Stored returns the model that comes with the program, or why it cannot be used.
var Stored = sync.OnceValues(func() (*Model, error) { return Decode(stored) })

// Decode reads a model. It refuses one of another version and one that is damaged.
func Decode(b []byte) (*Model, error) {
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return nil, errors.New("weights: not a file of weights")
	}
	h := b[len(magic):]
	if v := binary.LittleEndian.Uint32(h); v != version {
		return nil, fmt.Errorf("weights: version %d, this program reads version %d", v, version)
	}
	sum := binary.LittleEndian.Uint32(h[4:])
	m := &Model{name: fmt.Sprintf("%08x", sum)}
	slots := int(binary.LittleEndian.Uint32(h[8:]))
	if slots <= 0 || slots > slotsMax || slots&(slots-1) != 0 || len(b) != headerSize+slots*(2+rowSize) {
		return nil, fmt.Errorf("weights: %d bytes for %d slots: damaged", len(b), slots)
	}
	if crc32.ChecksumIEEE(b[len(magic)+8:]) != sum {
		return nil, errors.New("weights: the checksum is wrong: damaged")
	}
	for k := range m.bias {
		m.bias[k] = int32(int16(binary.LittleEndian.Uint16(h[12+2*k:])))
	}
	m.mask = uint64(slots - 1)
	m.checks = b[headerSize : headerSize+2*slots]
	m.rows = b[headerSize+2*slots:]
	return m, nil
}

// Version is a number that tells one set of weights from another.
func (m *Model) Version() string { return m.name }

func place(hash uint64) (slot uint64, check uint16) { return hash >> 20, uint16(hash) | 1 }

// find returns where the weights of a feature are, -1 if it has none.
func (m *Model) find(hash uint64) int32 {
	slot, want := place(hash)
	for slot &= m.mask; ; slot = (slot + 1) & m.mask {
		switch binary.LittleEndian.Uint16(m.checks[2*slot:]) {
		case 0:
			return -1
		case want:
			return int32(slot)
		}
	}
}

// row returns the weights in a slot.
func (m *Model) row(slot int32) []byte {
	return m.rows[int(slot)*rowSize : int(slot)*rowSize+rowSize]
}

// Encode makes a model of weights in steps. At most three of four slots are used.
func Encode(bias [len(Classes)]int, weights map[uint64][len(Classes)]int8, order []uint64) ([]byte, error) {
	slots := 16
	for slots*3 < len(weights)*4 {
		slots *= 2
	}
	if slots > slotsMax {
		return nil, fmt.Errorf("weights: %d features: too many", len(weights))
	}
	b := make([]byte, headerSize+slots*(2+rowSize))
	copy(b, magic)
	h := b[len(magic):]
	binary.LittleEndian.PutUint32(h, version)
	binary.LittleEndian.PutUint32(h[8:], uint32(slots))
	for k, w := range bias {
		binary.LittleEndian.PutUint16(h[12+2*k:], uint16(int16(w)))
	}
	checks, rows := b[headerSize:headerSize+2*slots], b[headerSize+2*slots:]
	for _, hash := range order {
		slot, check := place(hash)
		for slot &= uint64(slots - 1); ; slot = (slot + 1) & uint64(slots-1) {
			have := binary.LittleEndian.Uint16(checks[2*slot:])
			if have == check {
				break // two features that look alike: the first one stays
			}
			if have == 0 {
				binary.LittleEndian.PutUint16(checks[2*slot:], check)
				for k, w := range weights[hash] {
					rows[int(slot)*rowSize+k] = byte(w)
				}
				break
			}
		}
	}
	binary.LittleEndian.PutUint32(h[4:], crc32.ChecksumIEEE(b[len(magic)+8:]))
	return b, nil
}
