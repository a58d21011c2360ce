package postgres

import (
	"reflect"
	"testing"
)

// Nothing can be got at past the methods of a store.
func TestStoreHasNoFieldsForOthers(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[Store]().Fields() {
		if f.IsExported() {
			t.Errorf("the field %s can be used from outside", f.Name)
		}
	}
}
