package pgproxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Types of messages from clients.
const (
	typeParse    = 'P'
	typeBind     = 'B'
	typeExecute  = 'E'
	typeQuery    = 'Q'
	typeSync     = 'S'
	typeClose    = 'C'
	typeFunction = 'F'
	typeFlush    = 'H'
)

// Types of messages from servers.
const (
	typeComplete  = 'C' // the message after the end of a statement
	typeEmpty     = 'I'
	typeSuspended = 's'
	typeError     = 'E'
	typeReady     = 'Z'
)

// Message is one message of a client.
type Message struct {
	Type byte // the type of the message in PostgreSQL's protocol: Q, P, B, E, S …
	// SQL is the SQL that the message runs: the text of a Query, of the statement that an Execute
	// runs, and for a Sync all SQL since the last Sync. For a Parse it is the text to prepare.
	SQL string
	// Commit is true when the message runs COMMIT or END.
	Commit bool
	// Auto is true when the message commits a transaction that no BEGIN has opened: a Query outside
	// of a block, or the Sync after such statements.
	Auto bool
}

// Commit matches the messages that run COMMIT or END.
func Commit(m *Message) bool { return m.Commit }

// Auto matches the messages that commit without a COMMIT statement; see [Message].
func Auto(m *Message) bool { return m.Auto }

// Runs matches the messages that run SQL which contains the text, ignoring case.
func Runs(text string) func(*Message) bool {
	text = strings.ToLower(text)
	return func(m *Message) bool {
		return m.Type != typeParse && m.Type != typeSync && strings.Contains(strings.ToLower(m.SQL), text)
	}
}

// messageMax is the largest message in bytes, as in PostgreSQL.
const messageMax = 1 << 30

// readMessage reads one message and returns all its bytes. If the last argument is false, it reads
// the first message of a connection, which has no type byte.
func readMessage(in io.Reader, typed bool) ([]byte, error) {
	size := 4
	if typed {
		size = 5
	}
	head := make([]byte, size)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[len(head)-4:])
	if length < 4 || length > messageMax {
		return nil, fmt.Errorf("the message claims a length of %d bytes, want 4 to %d bytes", length, messageMax)
	}
	var body bytes.Buffer // grows only with the bytes that arrive, because the length in the message may be wrong
	body.Write(head)
	if _, err := io.CopyN(&body, in, int64(length)-4); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return body.Bytes(), nil
}

// texts returns the first n zero-terminated texts of a body. Missing ones are empty.
func texts(body []byte, n int) []string {
	found := make([]string, n)
	for i := range found {
		text, rest, ok := bytes.Cut(body, []byte{0})
		if !ok {
			break
		}
		found[i], body = string(text), rest
	}
	return found
}

// verbs returns the first word of each statement of a text, in capitals. ROLLBACK TO has two words,
// because it does not end the transaction.
func verbs(sql string) []string {
	var found []string
	for sql != "" {
		word, rest := nextWord(sql)
		if word == "ROLLBACK" {
			second, behind := nextWord(rest)
			if second == "WORK" || second == "TRANSACTION" {
				second, behind = nextWord(behind)
			}
			if second == "TO" {
				word, rest = "ROLLBACK TO", behind
			}
		}
		if word != "" {
			found = append(found, word)
		}
		sql = behindStatement(rest)
	}
	return found
}

// nextWord skips blanks and comments, and returns the next word in capitals and the text after it.
func nextWord(sql string) (word, rest string) {
	for sql != "" {
		switch n := quoted(sql); {
		case n > 0 && (strings.HasPrefix(sql, "--") || strings.HasPrefix(sql, "/*")):
			sql = sql[n:]
		case strings.IndexByte(" \t\r\n\f\v", sql[0]) >= 0:
			sql = sql[1:]
		default:
			n := 0
			for n < len(sql) && isLetter(sql[n]) {
				n++
			}
			return strings.ToUpper(sql[:n]), sql[n:]
		}
	}
	return "", ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// behindStatement returns the text after the next semicolon outside of literals and comments.
func behindStatement(sql string) string {
	for sql != "" {
		if sql[0] == ';' {
			return sql[1:]
		}
		sql = sql[max(1, quoted(sql)):]
	}
	return ""
}

// quoted returns the length of the literal, quoted name or comment at the start of a text, or 0.
// Without a closing quote it extends to the end.
func quoted(sql string) int {
	end := func(from int, mark string) int {
		if i := strings.Index(sql[from:], mark); i >= 0 {
			return from + i + len(mark)
		}
		return len(sql)
	}
	switch {
	case sql == "":
		return 0
	case sql[0] == '\'' || sql[0] == '"': // a literal with a doubled quote is read as two literals, one after the other
		return end(1, sql[:1])
	case strings.HasPrefix(sql, "--"):
		return end(2, "\n")
	case strings.HasPrefix(sql, "/*"):
		return end(2, "*/")
	case sql[0] == '$':
		n := 1
		for n < len(sql) && (isLetter(sql[n]) || n > 1 && sql[n] >= '0' && sql[n] <= '9') {
			n++
		}
		if n < len(sql) && sql[n] == '$' {
			return end(n+1, sql[:n+1])
		}
	}
	return 0
}
