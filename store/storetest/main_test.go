package storetest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/redrive/redrive/internal/testing/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Stopping(m)) }
