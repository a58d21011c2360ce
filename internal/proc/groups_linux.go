package proc

import (
	"encoding/binary"
	"io"
	"os"
)

// groupFile is a file with the numbers of the process groups that run. It has a slot of groupSize
// bytes for each group; a free slot is 0. The file is in no directory, and its content survives a
// kill of the process that writes it as long as another process has it open.
type groupFile struct {
	file  *os.File      // nil before open and after close
	slots map[int]int64 // the slot of each group
	free  []int64
	size  int64 // number of slots
}

const groupSize = 8

// open creates the file, if it is not open.
func (f *groupFile) open() error {
	if f.file != nil {
		return nil
	}
	file, err := unlinkedFile("redrive-groups", "")
	if err != nil {
		return err
	}
	*f = groupFile{file: file, slots: make(map[int]int64)}
	return nil
}

// close closes the file. Groups that are added later are not written.
func (f *groupFile) close() {
	if f.file != nil {
		f.file.Close()
		*f = groupFile{}
	}
}

func (f *groupFile) add(group int) error {
	if f.file == nil {
		return os.ErrClosed
	}
	slot := f.size
	if last := len(f.free) - 1; last >= 0 {
		slot, f.free = f.free[last], f.free[:last]
	} else {
		f.size++
	}
	f.slots[group] = slot
	return f.write(slot, group)
}

func (f *groupFile) remove(group int) {
	slot, ok := f.slots[group]
	if !ok {
		return
	}
	delete(f.slots, group)
	if f.write(slot, 0) == nil { // the slot of a failed write is not used again
		f.free = append(f.free, slot)
	}
}

func (f *groupFile) write(slot int64, group int) error {
	var b [groupSize]byte
	binary.LittleEndian.PutUint64(b[:], uint64(group))
	_, err := f.file.WriteAt(b[:], slot*groupSize)
	return err
}

// readGroups returns the numbers in a file of another process.
func readGroups(file io.ReaderAt) (groups []int) {
	var b [groupSize]byte
	for slot := int64(0); ; slot++ {
		if n, _ := file.ReadAt(b[:], slot*groupSize); n < groupSize {
			return groups
		}
		if group := binary.LittleEndian.Uint64(b[:]); group > 1 && group < 1<<31 {
			groups = append(groups, int(group))
		}
	}
}
