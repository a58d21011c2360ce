package failure

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/redrive/redrive/internal/plaintext"
)

// attrsMax bounds the details that are looked at, nested ones included.
const attrsMax = 64

// noteBytes is kept free for each attribute that may still come: its key, with
// every byte of it escaped, and the note that its value was too long.
const noteBytes = 6*CodeMax + 64

// encodeDetails writes keys and values, as log/slog takes them, as one JSON
// object of at most DetailsMax bytes; nil when there are no keys. Of a key that
// comes twice the first counts. A value that cannot be encoded or is too long
// is replaced by a text that says so.
func encodeDetails(args []any) []byte {
	if len(args) == 0 {
		return nil
	}
	attrs := slog.Group("", args[:min(len(args), 2*attrsMax)]...).Value.Group()
	d := details{left: attrsMax}
	d.object(attrs)
	if len(d.buf) <= len("{}") {
		return nil
	}
	return d.buf
}

type details struct {
	buf  []byte
	left int // attributes that may still be written
}

func (d *details) object(attrs []slog.Attr) {
	d.buf = append(d.buf, '{')
	seen := make(map[string]bool, len(attrs))
	for _, a := range attrs {
		key := plaintext.Clip(a.Key, CodeMax)
		if key == "" || seen[key] || d.left == 0 {
			continue
		}
		d.left--
		if len(seen) > 0 {
			d.buf = append(d.buf, ',')
		}
		seen[key] = true
		d.buf = append(d.buf, marshal(key)...)
		d.buf = append(d.buf, ':')
		d.value(a.Value)
	}
	d.buf = append(d.buf, '}')
}

// value writes one value. What a log may not show, a LogValuer hides here too.
func (d *details) value(v slog.Value) {
	v = v.Resolve()
	if v.Kind() == slog.KindGroup {
		d.object(v.Group())
		return
	}
	encoded := marshal(plain(v))
	if len(d.buf)+len(encoded) > DetailsMax-d.left*noteBytes {
		encoded = marshal(fmt.Sprintf("(%d bytes, too long to be kept)", len(encoded)))
	}
	d.buf = append(d.buf, encoded...)
}

// plain turns a value into one that reads well as JSON.
func plain(v slog.Value) any {
	switch x := v.Any().(type) {
	case string:
		return Message(x)
	case time.Duration:
		return x.String()
	case time.Time:
		return x.Format(time.RFC3339Nano)
	case error:
		return Text(x)
	default:
		return x
	}
}

func marshal(v any) []byte {
	var b []byte
	var err error
	if !guard(func() { b, err = json.Marshal(v) }) {
		err = fmt.Errorf("its encoding panicked")
	}
	if err != nil {
		b, _ = json.Marshal(fmt.Sprintf("(%T: %s)", v, Text(err)))
	}
	return b
}
