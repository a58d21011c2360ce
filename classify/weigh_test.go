package classify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/weigh"
)

const nothingKnown = "the courier came to the door twice and found that nobody lives at this address any longer"

// The result says what was weighed, and how sure the verdict is.
func TestWeigh_SaysWhatWeighed(t *testing.T) {
	t.Parallel()
	got := classOf(failure.Evidence{Message: nothingKnown})
	w := got.Weighing
	if w == nil {
		t.Fatalf("%+v: nothing was weighed", got)
	}
	if w.Sure < 0 || w.Sure > 100 || w.Weights == "" || w.For[0].What == "" {
		t.Errorf("%+v", *w)
	}
}

// Strong evidence decides alone: codes, statuses, marks.
func TestWeigh_StrongEvidenceDecides(t *testing.T) {
	t.Parallel()
	for _, e := range []failure.Evidence{
		{Message: nothingKnown, HTTPStatus: 503},
		{Message: nothingKnown, Errno: "ECONNREFUSED"},
		{Message: nothingKnown + ": HTTP 429 too many requests"},
		{Message: nothingKnown, SQLState: "40001"},
	} {
		if got := classOf(e); got.Weighing != nil || !got.Verdict.Retriable() {
			t.Errorf("%+v: %+v", e, got)
		}
	}
}

// A word counts once, however often it is there.
func TestWeigh_RepetitionChangesNothing(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"invalid ", "denied ", "missing ", "wrong ", "unbekannt "} {
		few, many := classOf(failure.Evidence{Message: strings.Repeat(word, 20)}), classOf(failure.Evidence{Message: strings.Repeat(word, 1000)})
		if few.Class != many.Class {
			t.Errorf("%q: %s, and a thousand times %s", word, few.Class, many.Class)
		}
		if many.Rule == "weighed" && !many.Verdict.Retriable() {
			t.Errorf("%q a thousand times is given up by weight: %+v", word, many)
		}
	}
}

// Weights of another version, and damaged ones, are refused.
func TestWeigh_DamagedWeightsAreRefused(t *testing.T) {
	t.Parallel()
	order := []uint64{1 << 40, 1 << 41}
	good, err := weigh.Encode([len(weigh.Classes)]int{}, map[uint64][len(weigh.Classes)]int8{order[0]: {1}, order[1]: {2}}, order)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := weigh.Decode(good); err != nil {
		t.Fatal(err)
	}
	for at := range good {
		bad := []byte(string(good))
		bad[at] ^= 0x40
		if _, err := weigh.Decode(bad); err == nil {
			t.Errorf("byte %d was changed, and nobody noticed", at)
		}
	}
	for _, n := range []int{0, 10, len(good) - 1} {
		if _, err := weigh.Decode(good[:n]); err == nil {
			t.Errorf("cut at %d, and nobody noticed", n)
		}
	}
}

// Without weights the rules decide.
func TestWeigh_WithoutWeights(t *testing.T) {
	t.Parallel()
	c, err := classify.WithWeights(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Classify(&failure.Evidence{Message: nothingKnown}, ""); got.Weighing != nil {
		t.Errorf("%+v", got)
	}
}

// Names of exceptions that stand for anything never end a job by themselves.
func TestWeigh_EmptyExceptionsAreNotPermanent(t *testing.T) {
	t.Parallel()
	var permanent []string
	for name := range strings.FieldsSeq(genericNames) {
		if got := classOf(failure.Evidence{Message: name + ":"}); !got.Verdict.Retriable() {
			permanent = append(permanent, name+" by "+got.Rule)
		}
	}
	if len(permanent) > 0 {
		t.Errorf("%d: %s", len(permanent), strings.Join(permanent, ", "))
	}
}

const genericNames = `Error Exception RuntimeError RuntimeException Throwable StandardError java.lang.Exception java.lang.RuntimeException java.lang.Error
System.Exception System.SystemException ApplicationException System.ApplicationException InternalError OSError IOError IOException java.io.IOException
System.IO.IOException SQLException java.sql.SQLException SqlException SQLError MySQLError OperationalError DatabaseError DataError InterfaceError
ProgrammingError DbException DataAccessException PersistenceException HibernateException JDBCException UncategorizedSQLException ClientError
botocore.exceptions.ClientError ServerError ServiceError ServiceException ApiError APIError ApiException APIException RequestError
RequestException HTTPError HttpError HttpException HttpClientErrorException WebException ResponseError RpcError RpcException StatusRuntimeException
ExecutionException CompletionException InvocationTargetException UndeclaredThrowableException WrappedException NestedServletException ServletException
AggregateError AggregateException UnknownError UnknownException UnexpectedError UnexpectedException GenericError GeneralError CustomError AppError
AppException BaseError BaseException DomainException LogicException LogicError ErrorException FatalError TaskError JobError JobFailedException
WorkerError ProcessError CommandError ExecError SubprocessError CalledProcessError PluginError ModuleError CoreError SystemError EngineError
HandlerError OperationError OperationException`

// The classes that are weighed are the built-in ones that words can tell of, and of each the table of classes says whether another
// attempt may succeed.
func TestWeigh_ClassesAreTheBuiltInOnes(t *testing.T) {
	t.Parallel()
	engine := []failure.Class{failure.AttemptTimeout, failure.Crash, failure.Panic, failure.Cancelled, failure.Internal}
	for _, info := range failure.Classes() {
		k := slices.Index(weigh.Classes[:], string(info.Class))
		if byEngine := slices.Contains(engine, info.Class); byEngine != (k < 0) {
			t.Errorf("%s: weighed is %t, want %t; add a new class to weigh.Classes, or to the classes that the engine gives", info.Class, k >= 0, !byEngine)
		}
		if k >= 0 && weigh.Retriable[k] != info.Verdict.Retriable() {
			t.Errorf("%s: weigh.Retriable is %t, its verdict is %s", info.Class, weigh.Retriable[k], info.Verdict)
		}
	}
	if len(weigh.Classes)+len(engine) != len(failure.Classes()) {
		t.Errorf("%d classes are weighed and %d are of the engine, want %d in sum", len(weigh.Classes), len(engine), len(failure.Classes()))
	}
	if got := weigh.Classes[weigh.Unknown]; got != string(failure.UnknownError) {
		t.Errorf("weigh.Unknown is %s, want %s", got, failure.UnknownError)
	}
}
