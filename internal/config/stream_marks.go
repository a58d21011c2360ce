package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/yamlfile"
)

// StreamMarks are the settings of marks in Redis of what was processed.
type StreamMarks struct {
	Redis        Secret        // the address
	PasswordFile string        // replaces the password of the address; "" for none
	TTL          time.Duration // how long a mark lives
}

// StreamDocuments are the settings of documents in MongoDB.
type StreamDocuments struct {
	MongoDB      Secret // the address
	PasswordFile string // replaces the password of the address; "" for none
	Database     string
	Dead, Marks  string // the collections of dead letters and of marks
	Read         bool   // tasks with a mark are not run
	Go           bool   // with Read: while MongoDB is away, records are taken without it; otherwise they wait
}

const (
	marksDay       = 24 * time.Hour
	collectionMax  = 120
	deadCollection = "dead_letter_queue"
)

var (
	redisSchemes = []string{"redis", "rediss"}
	mongoSchemes = []string{"mongodb", "mongodb+srv"}
)

func (r *reader) streamMarks(s *Stream) func(value) {
	return func(v value) {
		m := &StreamMarks{TTL: marksDay}
		r.Fields(v, "a mapping such as {redis: redis://redis-1:6379/0}", []field{
			{"redis", r.address(&m.Redis, redisSchemes, "redis://redis-1:6379/0")}, {"password_file", r.NonEmpty(&m.PasswordFile)},
			{"ttl", r.Duration(&m.TTL, time.Minute, 365*yamlfile.Day)},
		})
		if v.Shape == yamlfile.Mapping && v.Get("redis") == nil {
			r.Addf(v.Pos, "%s has no redis; name the server, such as redis://redis-1:6379/0", v.Path)
		}
		s.Marks, s.Sources["marks"] = m, fromFile
	}
}

func newDocuments() *StreamDocuments {
	return &StreamDocuments{Database: "alice", Dead: deadCollection, Marks: "processed_jobs"}
}

func (r *reader) streamDocuments(s *Stream) func(value) {
	return func(v value) {
		d := newDocuments()
		missing := "wait"
		r.Fields(v, "a mapping such as {mongodb: mongodb://mongo-1:27017, database: chat}", []field{
			{"mongodb", r.address(&d.MongoDB, mongoSchemes, "mongodb://mongo-1:27017")}, {"password_file", r.NonEmpty(&d.PasswordFile)},
			{"database", r.collection(&d.Database)}, {"dead", r.given(s, "documents.dead", r.collection(&d.Dead))}, {"marks", r.collection(&d.Marks)},
			{"read", r.Boolean(&d.Read)}, {"on_missing", yamlfile.Choice(r.Reader, &missing, []string{"wait", "go"}, []string{"wait", "go"})},
		})
		d.Go = missing == "go"
		switch {
		case v.Shape != yamlfile.Mapping:
		case v.Get("mongodb") == nil:
			r.Addf(v.Pos, "%s has no mongodb; name the server, such as mongodb://mongo-1:27017", v.Path)
		case d.Dead == d.Marks:
			r.Addf(v.Pos, "%s uses the collection %s for dead letters and for marks; each needs its own", v.Path, yamlfile.Quote(d.Dead))
		}
		s.Documents, s.Sources["documents"] = d, fromFile
	}
}

// address reads the address of a server. A password has a file of its own.
func (r *reader) address(into *Secret, schemes []string, example string) func(value) {
	return func(v value) {
		if v.Shape != yamlfile.Text || !isAddress(v.Text, schemes) {
			if v.Shape == yamlfile.Text { // the message does not show it: it may have a password
				r.Addf(v.Pos, "%s must be an address such as %s", v.Path, example)
				return
			}
			r.Mismatch(v, "an address such as "+example, "")
			return
		}
		if u, err := url.Parse(v.Text); err == nil && u.User != nil {
			if _, has := u.User.Password(); has {
				r.Addf(v.Pos, "%s has a password; write it to a file, and name the file as password_file", v.Path)
				return
			}
		}
		*into = NewSecret(v.Text)
	}
}

func isAddress(text string, schemes []string) bool {
	scheme, rest, ok := strings.Cut(text, "://")
	return ok && slices.Contains(schemes, scheme) && strings.Trim(rest, "/") != "" && len(text) <= 1_000
}

// collection reads the name of a database or collection.
func (r *reader) collection(into *string) func(value) {
	return func(v value) {
		if v.Shape != yamlfile.Text || !isCollection(v.Text) {
			r.Mismatch(v, fmt.Sprintf("a name of 1 to %d letters, digits, _ and -", collectionMax), "")
			return
		}
		*into = v.Text
	}
}

func isCollection(name string) bool {
	return name != "" && len(name) <= collectionMax &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// servers reads the variables REDIS_URL, MONGODB_URL and DLQ_COLLECTION.
func (s *Stream) servers(lookup func(string) (string, bool)) (wrong []string) {
	if text, ok := lookup("REDIS_URL"); ok {
		if !isAddress(text, redisSchemes) {
			wrong = append(wrong, "REDIS_URL must be an address such as redis://redis-1:6379/0")
		}
		m := StreamMarks{TTL: marksDay}
		if s.Marks != nil {
			m.TTL = s.Marks.TTL
		}
		m.Redis, s.Sources["marks"] = NewSecret(text), "REDIS_URL"
		s.Marks = &m
	}
	if text, ok := lookup("MONGODB_URL"); ok {
		if !isAddress(text, mongoSchemes) {
			wrong = append(wrong, "MONGODB_URL must be an address such as mongodb://mongo-1:27017")
		}
		d := *newDocuments()
		if s.Documents != nil {
			d = *s.Documents
			d.PasswordFile = ""
		}
		d.MongoDB, s.Sources["documents"] = NewSecret(text), "MONGODB_URL"
		s.Documents = &d
	}
	if text, ok := lookup("DLQ_COLLECTION"); ok {
		if !isCollection(text) {
			wrong = append(wrong, fmt.Sprintf("DLQ_COLLECTION is %.200q: it must be a name of 1 to %d letters, digits, _ and -", text, collectionMax))
		}
		if s.Documents != nil {
			d := *s.Documents
			d.Dead, s.Sources["documents.dead"] = text, "DLQ_COLLECTION"
			s.Documents = &d
		}
	}
	return wrong
}
