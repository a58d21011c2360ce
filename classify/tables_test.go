package classify

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

// An error of Windows has one name, as a typed error and as a number in a text. The typed names are in a file that is built on
// Windows only, so it is read here.
func TestTables_WindowsErrorsHaveOneName(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../failure/evidence_errno_windows.go")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, found := range regexp.MustCompile(`case ([\d, ]+):.*\n\t\treturn "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		for number := range strings.SplitSeq(found[1], ", ") {
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if name, both := winErrors[n]; both {
				compared++
				if name != found[2] {
					t.Errorf("error %d of Windows is %s as a typed error and %s in a text, want one name", n, found[2], name)
				}
			}
		}
	}
	if compared < 40 {
		t.Errorf("%d errors of Windows were compared, want at least 40", compared)
	}
}

// grpcError has a status with a number, as the errors of package grpc have.
type grpcError uint32

type grpcStatus struct{ code uint32 }

func (e grpcError) Error() string           { return "call failed" }
func (e grpcError) GRPCStatus() *grpcStatus { return &grpcStatus{uint32(e)} }
func (s *grpcStatus) Code() uint32          { return s.code }

// The names of gRPC are one list: each is found in its usual spellings, and each status for a policy without built-in rules has one of them.
func TestTables_NamesOfGRPCAreOneList(t *testing.T) {
	t.Parallel()
	for i := range grpcCodes {
		name := grpcCodes[i].name
		if e := failure.Of(grpcError(i)); i > 0 && e.GRPC != name {
			t.Errorf("status %d of gRPC is %q as evidence and %s for the classifier", i, e.GRPC, name)
		}
		for _, spelling := range []string{name, strings.ToLower(name), strings.ReplaceAll(name, "_", "")} {
			if !sameName(name, spelling) {
				t.Errorf("%s is not the name %s for the classifier", spelling, name)
			}
		}
	}
	for key := range grpcStatuses {
		known := false
		for i := range grpcCodes {
			known = known || sameName(grpcCodes[i].name, key)
		}
		if !known {
			t.Errorf("%s is no name of gRPC", key)
		}
	}
}
