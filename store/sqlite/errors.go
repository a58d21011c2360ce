package sqlite

import (
	"errors"
	"fmt"

	sqlitedriver "modernc.org/sqlite"
	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/store"
)

// resultCode returns SQLite's extended result code of an error. The error may come from
// either of the two drivers with which this package uses SQLite.
func resultCode(err error) (sqlite.ResultCode, bool) {
	if driver, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return sqlite.ResultCode(driver.Code()), true
	}
	code := sqlite.ErrCode(err)
	return code, err != nil && code != sqlite.ResultOK && code != sqlite.ResultError
}

// asStoreError wraps an error of SQLite in the matching error of package store. Call it only
// if nothing was written.
func asStoreError(err error) error {
	code, ok := resultCode(err)
	if !ok {
		return err
	}
	switch code.ToPrimary() {
	case sqlite.ResultFull:
		return fmt.Errorf("%w: free some space on the disk of the database; nothing is lost: %w", store.ErrFull, err)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm, sqlite.ResultAuth:
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultInterrupt, sqlite.ResultNoMem:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case sqlite.ResultIOErr:
		if code == sqlite.ResultIOErrSHMSize || code == sqlite.ResultIOErrWrite {
			return fmt.Errorf("%w: %w", store.ErrFull, err)
		}
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// commitError wraps an error of a commit in the matching error of package store. After an I/O error
// it is an ErrUnknown, because nobody knows which changes reached the disk. Other errors are
// wrapped as asStoreError does.
func commitError(err error) error {
	if code, ok := resultCode(err); ok && code.ToPrimary() == sqlite.ResultIOErr {
		return fmt.Errorf("commit of the transaction: %w: %w", store.ErrUnknown, err)
	}
	return asStoreError(err)
}

// ofStatement reports whether an error of SQLite concerns only one statement and its values, and
// not the file. Such an error does not affect other requests in the same transaction.
func ofStatement(err error) bool {
	code, ok := resultCode(err)
	if !ok {
		return false
	}
	switch code.ToPrimary() {
	case sqlite.ResultConstraint, sqlite.ResultTooBig, sqlite.ResultMismatch, sqlite.ResultRange:
		return true
	}
	return false
}

// fatalError returns the matching error of package store if an error of SQLite ends the whole
// transaction. It returns nil if the error concerns only one request.
func fatalError(err error) error {
	if _, ok := resultCode(err); !ok || ofStatement(err) {
		return nil
	}
	return asStoreError(err)
}
