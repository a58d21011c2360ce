package pgproxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Types of messages of clients.
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

// Types of messages of servers.
const (
	typeComplete  = 'C' // of a statement
	typeEmpty     = 'I'
	typeSuspended = 's'
	typeError     = 'E'
	typeReady     = 'Z'
)

// Message is one message of a client.
type Message struct {
	Type byte // as in PostgreSQL's protocol: Q, P, B, E, S …
	// SQL is the text that the message runs: that of a Query, of the statement that
	// an Execute runs, however it was prepared, and, in a Sync, all that was run
	// since the last one. It is the text to prepare in a Parse.
	SQL string
	// Commit tells that the message runs COMMIT or END as a statement.
	Commit bool
	// Auto tells that the message ends a transaction that no BEGIN has opened: a
	// Query outside of a block, or the Sync after such statements.
	Auto bool
}

// Commit matches the messages that commit a transaction by a statement.
func Commit(m *Message) bool { return m.Commit }

// Auto matches the messages that commit without a statement; see [Message].
func Auto(m *Message) bool { return m.Auto }

// Runs matches the messages that run a text which contains the given one,
// whatever the case of its letters.
func Runs(text string) func(*Message) bool {
	text = strings.ToLower(text)
	return func(m *Message) bool {
		return m.Type != typeParse && m.Type != typeSync && strings.Contains(strings.ToLower(m.SQL), text)
	}
}

// messageMax bounds a message, as PostgreSQL does.
const messageMax = 1 << 30

// readMessage reads a message with its type, or, without, one as at the start of
// a connection. All bytes are returned.
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
		return nil, fmt.Errorf("a message of %d bytes", length)
	}
	var body bytes.Buffer // grows with what comes, whatever the size says
	body.Write(head)
	if _, err := io.CopyN(&body, in, int64(length)-4); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return body.Bytes(), nil
}

// texts returns the first n texts, each ended by a zero byte, of a body. Missing
// ones are empty.
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

// verbs returns the first words of the statements of a text, in capitals, and
// for ROLLBACK the next one too: ROLLBACK TO ends no transaction.
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

// nextWord returns the word, in capitals, with which a text begins behind blanks
// and comments, and what is behind it.
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

// behindStatement returns what is behind the next semicolon that is none of a
// text or a comment.
func behindStatement(sql string) string {
	for sql != "" {
		if sql[0] == ';' {
			return sql[1:]
		}
		sql = sql[max(1, quoted(sql)):]
	}
	return ""
}

// quoted returns the length of the literal, quoted name or comment with which a
// text begins, 0 if there is none. One without an end goes to the end.
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
	case sql[0] == '\'' || sql[0] == '"': // a doubled quote is two literals, one behind the other
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
