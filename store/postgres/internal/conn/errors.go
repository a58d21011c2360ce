package conn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// The SQLSTATEs that are distinguished, of PostgreSQL's appendix A.
const (
	stateReadOnly      = "25006" // read_only_sql_transaction
	stateSerialization = "40001"
	StateDeadlock      = "40P01"
	StateRights        = "42501" // insufficient_privilege
	stateNoTable       = "42P01" // undefined_table
	stateNoSchema      = "3F000" // invalid_schema_name
	stateDiskFull      = "53100"
	stateTooMany       = "53300" // too_many_connections
	StateCanceled      = "57014" // query_canceled: statement_timeout, or a person
	StateLockTimeout   = "55P03" // lock_not_available
	StatePassword      = "28P01" // invalid_password
	StateAuthorization = "28000" // invalid_authorization_specification
	StateNoDatabase    = "3D000" // invalid_catalog_name
	stateOldPlan       = "0A000" // feature_not_supported: a prepared statement's columns have changed
	StateReplica       = "0A000" // the same, of a BEGIN: a replica does not write
	stateNoStatement   = "26000" // a prepared statement is not there
	stateDoubleStmt    = "42P05" // a prepared statement of that name is there already
	stateUnique        = "23505" // unique_violation
)

// SQLState returns the SQLSTATE of an error, from whichever driver it is; "" is
// none.
func SQLState(err error) string {
	if coded, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return coded.SQLState()
	}
	return ""
}

// Failed is an error of a statement or of its connection, in contrast to what
// the code around the statement found.
type Failed struct {
	What string // the statement's name
	err  error
}

// Fail says that a statement, or its connection, has failed.
func Fail(what string, err error) error { return &Failed{what, err} }

// Error implements error.
func (e *Failed) Error() string { return e.What + ": " + e.err.Error() }

// Unwrap returns the error of the driver.
func (e *Failed) Unwrap() error { return e.err }

// AsStoreError gives an error of a statement, or of its connection, the store's
// word for it. Nothing was written when it is returned.
func AsStoreError(err error) error {
	if err == nil {
		return nil
	}
	state := SQLState(err)
	if state == "" {
		if errors.Is(err, sqlstore.ErrAgain) {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		if _, ok := errors.AsType[*Failed](err); ok || isNetwork(err) {
			return fmt.Errorf("%w: the connection to PostgreSQL was lost: %w", store.ErrUnavailable, err)
		}
		return err
	}
	switch state {
	case stateDiskFull:
		return fmt.Errorf("%w: free some space on the disk of the PostgreSQL server; nothing is lost: %w", store.ErrFull, err)
	case stateReadOnly:
		return ReadOnly(err)
	case StateRights:
		return fmt.Errorf("%w: the role may not do this: run the GRANT statements of docs/postgres.md as the schema's owner: %w",
			store.ErrReadOnly, err)
	case stateNoTable, stateNoSchema:
		return fmt.Errorf("%w: redrive's tables are not there any more; restart to make them again, or restore a backup: %w",
			store.ErrUnavailable, err)
	case StateCanceled, StateLockTimeout:
		return fmt.Errorf("%w: a statement took longer than its limit; try again when the server is less busy: %w",
			store.ErrUnavailable, err)
	case stateTooMany:
		return fmt.Errorf("%w: the server has no connection left: raise max_connections, lower MaxConns, or use a pooler: %w",
			store.ErrUnavailable, err)
	case stateSerialization, StateDeadlock, stateOldPlan, stateNoStatement, stateDoubleStmt:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	switch state[:2] {
	case "08", // connection exception
		"53", // insufficient resources
		"57", // operator intervention
		"58": // system error
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if state == "25P03" || state == "25P04" { // idle_in_transaction_session_timeout, transaction_timeout
		return fmt.Errorf("%w: the transaction took too long and was ended by the server: %w", store.ErrUnavailable, err)
	}
	return err
}

// ReadOnly is the error of a server that does not write.
func ReadOnly(err error) error {
	return fmt.Errorf("%w: the server is a replica, or its database is set read-only: connect to the primary "+
		"(target_session_attrs=read-write): %w", store.ErrReadOnly, err)
}

// CommitError is asStoreError for a transaction whose COMMIT has been sent. Only
// an error that the server has answered, and survived, leaves no doubt: one that
// panics because its log cannot be written may have written what it needs to find
// the transaction committed when it starts again.
func CommitError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrAborted) {
		return err
	}
	if state := SQLState(err); state != "" && !strings.HasPrefix(state, "57P") && !strings.HasPrefix(state, "58") &&
		!strings.HasPrefix(state, "08") && !Broken(err) {
		return AsStoreError(err)
	}
	return fmt.Errorf("commit: %w: %w", store.ErrUnknown, err)
}

// Broken reports whether the server has ended the connection with its error.
func Broken(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.SeverityUnlocalized == "FATAL" || pg.SeverityUnlocalized == "PANIC")
}

// isNetwork reports whether an error is of the connection and not of a
// statement.
func isNetwork(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	return errors.Is(err, pgconn.ErrConnClosed)
}

// Again reports whether a transaction that failed with err, and of which nothing
// was written, may go well when it is simply repeated.
func Again(err error) bool {
	switch SQLState(err) {
	case stateSerialization, StateDeadlock:
		return true
	}
	return Stale(err) || errors.Is(err, ErrOvertaken) || errors.Is(err, sqlstore.ErrAgain)
}

// Stale reports whether the connection knows prepared statements that do not fit
// any more: a migration has changed a table, or a pooler has changed the session.
func Stale(err error) bool {
	switch SQLState(err) {
	case stateOldPlan, stateNoStatement, stateDoubleStmt:
		return true
	}
	return false
}

// WithContext adds that the context has ended, when that is why err came.
func WithContext(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	cause := context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// OfStatement reports whether an error is about a statement and its values, not
// about the server: the calls beside it are not at fault.
func OfStatement(err error) bool {
	state := SQLState(err)
	return strings.HasPrefix(state, "22") || strings.HasPrefix(state, "23") // data exception, integrity constraint violation
}

// HeldUp reports whether something was waited for in vain. Nothing was written.
func HeldUp(err error) bool {
	switch SQLState(err) {
	case StateLockTimeout, StateCanceled:
		return !errors.Is(err, store.ErrUnknown)
	}
	return false
}

// ErrAnswer says that an answer does not belong to the statement that was sent. Poolers that
// lose track of a connection do that.
var ErrAnswer = errors.New("the answer is not that of the statement; the connection is closed")

// ErrAborted is that of a transaction in which an error was not noticed.
var ErrAborted = errors.New("the transaction was rolled back by the server")

// ErrOvertaken says that a later transaction has written a row: see order.go of the store.
var ErrOvertaken = fmt.Errorf("a later transaction was faster: %w", store.ErrUnavailable)
