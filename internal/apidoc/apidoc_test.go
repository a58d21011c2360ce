package apidoc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/apidoc"
)

// part of: D4
//
// The document is the one of the table of routes.
func TestTrap43_TheDocumentIsUpToDate(t *testing.T) {
	want, err := apidoc.Document("../..")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(api.OpenAPI()), "\n")); diff != "" {
		t.Errorf("internal/api/openapi.yaml is out of date; run `go generate ./scripts/openapi` (-want +file):\n%s", diff)
	}
}
