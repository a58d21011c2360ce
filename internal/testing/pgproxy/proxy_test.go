package pgproxy_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/redrive/redrive/internal/testing/pgproxy"
)

func typeName(m any) string { return fmt.Sprintf("%T", m) }

func query(sql string) pgproto3.FrontendMessage { return &pgproto3.Query{String: sql} }

// prepared is the message sequence that runs a prepared statement.
func prepared(name string) []pgproto3.FrontendMessage {
	return []pgproto3.FrontendMessage{&pgproto3.Bind{PreparedStatement: name}, &pgproto3.Execute{}}
}

// queryReply is the whole reply of the server to a Query message with the statement COMMIT.
const queryReply = "C\x00\x00\x00\x0bCOMMIT\x00" + "Z\x00\x00\x00\x05I"

func TestCutsComeWhereTheySay(t *testing.T) {
	t.Parallel()
	setup := []pgproto3.FrontendMessage{
		&pgproto3.Parse{Name: "s1", Query: "insert"}, &pgproto3.Parse{Name: "s2", Query: "/* end */ Commit"},
		&pgproto3.Sync{},
	}
	setupGot := []string{"Parse insert", "Parse /* end */ Commit", "Sync"}
	setupReply := "1\x00\x00\x00\x041\x00\x00\x00\x04Z\x00\x00\x00\x05I"
	insertReply := "2\x00\x00\x00\x04C\x00\x00\x00\x0bINSERT\x00"
	pipeline := slices.Concat(prepared("s1"), prepared("s2"), []pgproto3.FrontendMessage{&pgproto3.Sync{}})
	commit := "2\x00\x00\x00\x04C\x00\x00\x00\x15/* END */ COMMIT\x00"
	for _, tt := range []struct {
		name  string
		point pgproxy.Point
		match func(*pgproxy.Message) bool
		said  []pgproto3.FrontendMessage
		got   []string // messages that the server got after the setup
		reply string   // reply that the client got
	}{
		{"before a query", pgproxy.BeforeMessage, pgproxy.Commit, []pgproto3.FrontendMessage{query("commit")}, nil, ""},
		{"after a query", pgproxy.AfterMessage, pgproxy.Commit, []pgproto3.FrontendMessage{query("commit")}, []string{"Query commit"}, ""},
		{"before the reply to a query", pgproxy.BeforeReply, pgproxy.Commit, []pgproto3.FrontendMessage{query("commit")}, []string{"Query commit"}, ""},
		{"in the reply to a query", pgproxy.InReply, pgproxy.Commit, []pgproto3.FrontendMessage{query("commit")}, []string{"Query commit"},
			queryReply[:len(queryReply)/2]},
		{"before a prepared statement", pgproxy.BeforeMessage, pgproxy.Commit, pipeline, []string{"Bind s1", "Execute", "Bind s2"}, ""},
		{"after a prepared statement", pgproxy.AfterMessage, pgproxy.Commit, pipeline,
			[]string{"Bind s1", "Execute", "Bind s2", "Execute", "Flush"}, ""},
		{"before the reply to a prepared statement", pgproxy.BeforeReply, pgproxy.Commit, pipeline,
			[]string{"Bind s1", "Execute", "Bind s2", "Execute", "Flush"}, insertReply},
		{"in the reply to a prepared statement", pgproxy.InReply, pgproxy.Commit, pipeline,
			[]string{"Bind s1", "Execute", "Bind s2", "Execute", "Flush"}, insertReply + commit[:len(commit)/2]},
		{"before the end of a transaction without a block", pgproxy.BeforeMessage, pgproxy.Auto,
			append(prepared("s1"), &pgproto3.Sync{}), []string{"Bind s1", "Execute"}, ""},
		{"before the reply to it", pgproxy.BeforeReply, pgproxy.Auto,
			append(prepared("s1"), &pgproto3.Sync{}), []string{"Bind s1", "Execute", "Sync"}, insertReply},
		{"a message without a reply of its own", pgproxy.AfterMessage, func(m *pgproxy.Message) bool { return m.Type == 'B' }, pipeline,
			[]string{"Bind s1"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := newFake(t)
			p := through(t, server.listener.Addr().String())
			c := dial(t, p)
			c.say(setup...)
			for range 3 {
				c.hear()
			}
			cut := p.Cut(tt.point, tt.match)
			c.say(tt.said...)
			reply, _ := strings.CutPrefix(c.rest(), setupReply)
			await(t, cut.Done(), "the cut")
			if diff := cmp.Diff(slices.Concat(setupGot, tt.got), server.heard(t, 1)); diff != "" {
				t.Errorf("the messages that the server got differ (-want +got):\n%s", diff)
			}
			// The server buffers a reply until a message asks for it. A cut before that message
			// loses the reply.
			if reply != tt.reply {
				t.Errorf("the client got %q, want %q", reply, tt.reply)
			}
			if s := p.Stats(); s.Cuts != 1 || s.Connections != 1 {
				t.Errorf("got the counts %+v, want 1 cut and 1 connection", s)
			}
		})
	}
}

// After an error the server skips later messages and does not reply to them. A cut at such a
// message must not wait for a reply.
func TestACutBehindAnErrorDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	server := newFake(t)
	p := through(t, server.listener.Addr().String())
	c := dial(t, p)
	cut := p.Cut(pgproxy.BeforeReply, pgproxy.Commit)
	c.say(slices.Concat([]pgproto3.FrontendMessage{&pgproto3.Parse{Name: "s1", Query: "wrong"}, &pgproto3.Parse{Name: "s2", Query: "commit"}},
		prepared("s1"), prepared("s2"), []pgproto3.FrontendMessage{&pgproto3.Sync{}})...)
	c.rest()
	await(t, cut.Done(), "the cut")
	if got := server.heard(t, 1); slices.Contains(got, "Sync") {
		t.Errorf("the server got %q, want no bytes after the message at which the connection was cut", got)
	}
}

func TestWhatIsNotCutPassesUnchanged(t *testing.T) {
	t.Parallel()
	server := newFake(t)
	p := through(t, server.listener.Addr().String())
	c := dial(t, p)
	cut := p.Cut(pgproxy.BeforeReply, pgproxy.Runs("never said"))
	for _, sql := range []string{"begin", "insert", "commit", "select 'commit'"} {
		c.say(query(sql))
		if m, ok := c.hear().(*pgproto3.CommandComplete); !ok || string(m.CommandTag) != strings.ToUpper(sql) {
			t.Errorf("reply to %s: got the message %v, want CommandComplete", sql, m)
		}
		if _, ok := c.hear().(*pgproto3.ReadyForQuery); !ok {
			t.Errorf("the reply to %s does not end with ReadyForQuery, want this message at the end", sql)
		}
	}
	if !p.Cancel(cut) || p.Cancel(cut) {
		t.Error("Cancel must return true for the first call and false for the second")
	}
	c.say(&pgproto3.Terminate{})
	server.heard(t, 1)
	s := p.Stats()
	if s.Trips != 4 || s.Commits != 1 || s.Messages['Q'] != 4 || s.Messages['X'] != 1 || s.ToServer == 0 || s.ToClient == 0 || s.Cuts != 0 {
		t.Errorf("got the counts %+v; want 4 messages that ask for a reply, 1 commit, 4 messages Q, 1 message X and no cut", s)
	}
}

func TestCutsAfterBytes(t *testing.T) {
	t.Parallel()
	for n := range len(queryReply) {
		server := newFake(t)
		p := through(t, server.listener.Addr().String())
		c := dial(t, p)
		cut := p.CutAfter(pgproxy.ToClient, int64(n))
		c.say(query("commit"))
		if got := c.rest(); got != queryReply[:n] {
			t.Errorf("a cut after %d bytes: the client got %q, want %q", n, got, queryReply[:n])
		}
		await(t, cut.Done(), "the cut")
	}
	server := newFake(t)
	p := through(t, server.listener.Addr().String())
	c := dial(t, p)
	cut := p.CutAfter(pgproxy.ToServer, 17)
	c.say(query("commit")) // this message has 12 bytes
	c.hear()
	c.say(query("commit"))
	c.rest()
	await(t, cut.Done(), "the cut")
	if got := server.heard(t, 1); len(got) != 1 {
		t.Errorf("the server got %q, want one whole message", got)
	}
}

func TestAPauseHoldsWhatIsSaidAndLosesNothing(t *testing.T) {
	t.Parallel()
	server := newFake(t)
	p := through(t, server.listener.Addr().String())
	c := dial(t, p)
	p.Pause()
	p.Pause()
	c.say(query("commit"))
	if s := p.Stats(); s.Messages['Q'] != 0 {
		t.Errorf("got the counts %+v during a pause, want no bytes sent", s)
	}
	p.Resume()
	p.Resume()
	if m, ok := c.hear().(*pgproto3.CommandComplete); !ok {
		t.Errorf("got the message %v after the pause, want CommandComplete", m)
	}
	_ = c.conn.Close() // the server must notice that the client has closed the connection
	server.heard(t, 1)
}

func TestRefusedConnectionsAndCutOnes(t *testing.T) {
	t.Parallel()
	server := newFake(t)
	p := through(t, server.listener.Addr().String())
	c := dial(t, p)
	p.Refuse(true)
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil {
		defer conn.Close()
		if _, err = io.ReadAll(conn); err == nil {
			t.Error("a refused connection ended without a reset, want a reset")
		}
	}
	c.say(query("commit")) // connections that already exist are not refused
	c.hear()
	p.CutAll()
	c.rest()
	p.Refuse(false)
	dial(t, p)
	if s := p.Stats(); s.Refused != 1 || s.Connections != 2 || s.Cuts != 1 {
		t.Errorf("got the counts %+v; want 1 refused connection, 2 connections and 1 cut", s)
	}
}

// A client that asks for encryption gets the answer that it is not available.
func TestEncryptionIsDeclined(t *testing.T) {
	t.Parallel()
	server := newFake(t)
	p := through(t, server.listener.Addr().String())
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask, err := (&pgproto3.SSLRequest{}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(ask); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(conn, answer); err != nil || answer[0] != 'N' {
		t.Errorf("request for encryption: got the answer %q and the error %v, want the answer N and no error", answer, err)
	}
}
