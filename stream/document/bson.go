package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// The limits of a document, which are below those of MongoDB.
const (
	depthMax = 90       // levels of a payload
	sizeMax  = 15 << 20 // bytes of a payload
)

var errDepth = fmt.Errorf("more than %d levels", depthMax)

// fromJSON returns a JSON value as BSON. Objects keep the order of their fields. Whole numbers become int64, larger ones
// Decimal128, others double.
func fromJSON(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := next(d, 0)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("something follows the value")
		}
	}
	return v, err
}

func next(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if depth == depthMax {
			return nil, errDepth
		}
		if t == '{' {
			return fields(d, depth+1)
		}
		return elements(d, depth+1)
	case json.Number:
		return numberOf(t.String()), nil
	}
	return t, nil // a text, a truth value or nil
}

func fields(d *json.Decoder, depth int) (any, error) {
	all := bson.D{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if strings.ContainsAny(name, ".\x00") || strings.HasPrefix(name, "$") {
			return nil, fmt.Errorf("the name %q has a special meaning in MongoDB", name)
		}
		v, err := next(d, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, bson.E{Key: name, Value: v})
	}
	_, err := d.Token()
	return all, err
}

func elements(d *json.Decoder, depth int) (any, error) {
	all := bson.A{}
	for d.More() {
		v, err := next(d, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	_, err := d.Token()
	return all, err
}

func numberOf(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if strings.Trim(text, "-0123456789") == "" {
		if d, err := bson.ParseDecimal128(text); err == nil {
			return d
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text // beyond what a double holds
	}
	return f
}

// dated replaces texts that are times by dates.
func dated(all bson.D, names ...string) {
	for i := range all {
		for _, name := range names {
			if text, ok := all[i].Value.(string); ok && all[i].Key == name {
				if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
					all[i].Value = t
				}
			}
		}
	}
}
