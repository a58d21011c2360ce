package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// cursorVersion is the first byte of a cursor.
const cursorVersion = 1

// cursorBytes is the number of bytes of a cursor: version, order, time, id, and a hash of the
// filter, so that a cursor of another list is refused.
const cursorBytes = 2 + 8 + 8 + 8

// cursorOf returns the text of a position in the list of a filter.
func cursorOf(at redrive.JobCursor, order redrive.JobOrder, filter [8]byte) string {
	if at.IsZero() {
		return ""
	}
	b := make([]byte, 0, cursorBytes)
	b = append(b, cursorVersion, byte(order))
	b = binary.BigEndian.AppendUint64(b, uint64(at.At))
	b = binary.BigEndian.AppendUint64(b, uint64(at.ID))
	b = append(b, filter[:]...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads the text of a cursor. The error is an InvalidCursor.
func parseCursor(text string, order redrive.JobOrder, filter [8]byte) (redrive.JobCursor, error) {
	if text == "" {
		return redrive.JobCursor{}, nil
	}
	wrong := func(why string) error {
		return InvalidCursor.Mistaken(Mistake{Parameter: "cursor", Detail: why})
	}
	if len(text) > CursorMax {
		return redrive.JobCursor{}, wrong("is longer than a cursor can be; use the \"next\" of an earlier page")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != cursorBytes || b[0] != cursorVersion {
		return redrive.JobCursor{}, wrong("is not a cursor; use the \"next\" of an earlier page")
	}
	at := redrive.JobCursor{At: job.Micros(binary.BigEndian.Uint64(b[2:])), ID: job.ID(binary.BigEndian.Uint64(b[10:]))}
	if b[1] != byte(order) || [8]byte(b[18:]) != filter {
		return redrive.JobCursor{}, wrong("belongs to a list with other filters or another order; begin again without a cursor")
	}
	if at.At < 0 || at.ID < 1 || order == redrive.Newest && at.At != 0 {
		return redrive.JobCursor{}, wrong("is not a cursor; use the \"next\" of an earlier page")
	}
	return at, nil
}

// filterHash returns a hash of a filter without its position and its limit.
func filterHash(filter any) [8]byte {
	text, err := json.Marshal(filter)
	if err != nil {
		panic("encode a filter: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return [8]byte(sum[:8])
}
