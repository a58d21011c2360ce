package failure

import "reflect"

// readMySQL gives the number of a MySQL error its name.
func (e *Evidence) readMySQL(err error) {
	n := fieldNumber(structOf(err), "Number")
	if name := mysqlName(n); name != "" {
		e.setServiceCode(name)
		return
	}
	e.setServiceNumber(n)
}

// mysqlName is the symbol of a server error of MySQL and MariaDB that a program
// can meet when its SQL is right, or that tells what is wrong with it.
func mysqlName(n int64) string {
	switch n {
	case 1037:
		return "ER_OUTOFMEMORY"
	case 1040:
		return "ER_CON_COUNT_ERROR"
	case 1041:
		return "ER_OUT_OF_RESOURCES"
	case 1044:
		return "ER_DBACCESS_DENIED_ERROR"
	case 1045:
		return "ER_ACCESS_DENIED_ERROR"
	case 1048:
		return "ER_BAD_NULL_ERROR"
	case 1049:
		return "ER_BAD_DB_ERROR"
	case 1053:
		return "ER_SERVER_SHUTDOWN"
	case 1054:
		return "ER_BAD_FIELD_ERROR"
	case 1062:
		return "ER_DUP_ENTRY"
	case 1064:
		return "ER_PARSE_ERROR"
	case 1114:
		return "ER_RECORD_FILE_FULL"
	case 1142:
		return "ER_TABLEACCESS_DENIED_ERROR"
	case 1146:
		return "ER_NO_SUCH_TABLE"
	case 1153:
		return "ER_NET_PACKET_TOO_LARGE"
	case 1203:
		return "ER_TOO_MANY_USER_CONNECTIONS"
	case 1205:
		return "ER_LOCK_WAIT_TIMEOUT"
	case 1213:
		return "ER_LOCK_DEADLOCK"
	case 1226:
		return "ER_USER_LIMIT_REACHED"
	case 1290:
		return "ER_OPTION_PREVENTS_STATEMENT"
	case 1317:
		return "ER_QUERY_INTERRUPTED"
	case 1406:
		return "ER_DATA_TOO_LONG"
	case 1451:
		return "ER_ROW_IS_REFERENCED_2"
	case 1452:
		return "ER_NO_REFERENCED_ROW_2"
	case 1792:
		return "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION"
	case 1836:
		return "ER_READ_ONLY_MODE"
	case 3024:
		return "ER_QUERY_TIMEOUT"
	case 3572:
		return "ER_LOCK_NOWAIT"
	case 3819:
		return "ER_CHECK_CONSTRAINT_VIOLATED"
	}
	return ""
}

// sqliteNames are the primary result codes of SQLite by their number.
var sqliteNames = [...]string{
	"SQLITE_OK", "SQLITE_ERROR", "SQLITE_INTERNAL", "SQLITE_PERM", "SQLITE_ABORT", "SQLITE_BUSY", "SQLITE_LOCKED",
	"SQLITE_NOMEM", "SQLITE_READONLY", "SQLITE_INTERRUPT", "SQLITE_IOERR", "SQLITE_CORRUPT", "SQLITE_NOTFOUND",
	"SQLITE_FULL", "SQLITE_CANTOPEN", "SQLITE_PROTOCOL", "SQLITE_EMPTY", "SQLITE_SCHEMA", "SQLITE_TOOBIG",
	"SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_MISUSE", "SQLITE_NOLFS", "SQLITE_AUTH", "SQLITE_FORMAT",
	"SQLITE_RANGE", "SQLITE_NOTADB",
}

// readSQLite gives the result code of SQLite its name. Drivers have it as a
// method or a field, with the extended code in its upper bits.
func (e *Evidence) readSQLite(err error) {
	v := structOf(err)
	n := fieldNumber(v, "Code")
	if n == 0 {
		n = fieldNumber(v, "code")
	}
	if c, ok := err.(interface{ Code() int }); ok {
		n = int64(c.Code())
	}
	if n &= 0xff; n > 0 && n < int64(len(sqliteNames)) {
		e.setServiceCode(sqliteNames[n])
	}
}

// mongoLabels are the labels by which MongoDB says that an operation, or the
// whole transaction, can be done again, or that the connection broke.
var mongoLabels = [...]string{"TransientTransactionError", "RetryableWriteError", "NetworkError"}

// readMongo reads an error of MongoDB: its labels, as types, and the name of
// its code.
func (e *Evidence) readMongo(err error) {
	if l, ok := err.(interface{ HasErrorLabel(string) bool }); ok {
		for _, label := range mongoLabels {
			if l.HasErrorLabel(label) {
				e.addType(label)
			}
		}
	}
	v := structOf(err)
	e.setServiceCode(fieldText(v, "Name"))
	n := fieldNumber(v, "Code")
	if !v.IsValid() {
		return
	}
	if writes := inner(fieldByName(v, "WriteErrors")); n == 0 && writes.Kind() == reflect.Slice && writes.Len() > 0 {
		n = fieldNumber(inner(writes.Index(0)), "Code")
	}
	if concern := inner(fieldByName(v, "WriteConcernError")); n == 0 && concern.IsValid() {
		e.setServiceCode(fieldText(concern, "Name"))
		n = fieldNumber(concern, "Code")
	}
	if name := mongoName(n); name != "" {
		e.setServiceCode(name)
	}
	e.setServiceNumber(n)
}

// mongoName is the name of a code of MongoDB that its drivers give without it.
func mongoName(n int64) string {
	switch n {
	case 50:
		return "MaxTimeMSExpired"
	case 64:
		return "WriteConcernFailed"
	case 112:
		return "WriteConflict"
	case 121:
		return "DocumentValidationFailure"
	case 11000, 11001, 12582:
		return "DuplicateKey"
	}
	return ""
}
