package document_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/stream/document"
	"github.com/redrive/redrive/stream/project"
)

var died = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func letter(id, jobID string, rev int64, task string) project.Document {
	return project.Document{ID: id, From: "s", Rev: rev, JobID: jobID, Task: []byte(task), Reason: job.NonRetriable, DiedAt: died, Status: job.Pending,
		Job: 7, Life: 1, Class: "InvalidInput", Source: "alice_tasks/0/3"}
}

// A document has the fields of the HTTP API, with times as dates and numbers as they were.
//
// part of: S7
func TestS7_FieldsOfADocument(t *testing.T) {
	t.Parallel()
	doc := letter("s/7", "a-1", 5, `{"job_id":"a-1","task_type":"chat","payload":{"z":1,"a":[1.5,12345678901234567890,null]},"extra":true,`+
		`"status":"theirs","metadata":{"retry_count":2,"created_at":"2026-11-28T11:00:00.5Z","last_retry_at":null}}`)
	doc.Action, doc.Notes, doc.ResolvedAt, doc.ResolvedBy, doc.Status = "resolved", "a duplicate", died.Add(time.Hour), "ann", job.Resolved
	big, err := bson.ParseDecimal128("12345678901234567890")
	if err != nil {
		t.Fatal(err)
	}
	want := bson.D{
		{Key: "job_id", Value: "a-1"}, {Key: "task_type", Value: "chat"},
		{Key: "payload", Value: bson.D{{Key: "z", Value: int64(1)}, {Key: "a", Value: bson.A{1.5, big, nil}}}}, {Key: "extra", Value: true},
		{Key: "metadata", Value: bson.D{{Key: "retry_count", Value: int64(2)}, {Key: "created_at", Value: died.Add(-time.Hour + 500*time.Millisecond)}, {Key: "last_retry_at", Value: nil}}},
		{Key: "fields_json", Value: `{"status":"theirs"}`},
		{Key: "dlq_reason", Value: "non_retriable_error"}, {Key: "dlq_timestamp", Value: died}, {Key: "status", Value: "resolved"},
		{Key: "resolution", Value: bson.D{{Key: "action", Value: "resolved"}, {Key: "notes", Value: "a duplicate"}}},
		{Key: "resolved_at", Value: died.Add(time.Hour)}, {Key: "resolved_by", Value: "ann"},
		{Key: "redrive", Value: bson.D{{Key: "id", Value: "s/7"}, {Key: "store", Value: "s"}, {Key: "rev", Value: int64(5)}, {Key: "job", Value: int64(7)}, {Key: "life", Value: int64(1)},
			{Key: "class", Value: "InvalidInput"}, {Key: "code", Value: ""}, {Key: "group", Value: ""}, {Key: "source", Value: "alice_tasks/0/3"}}},
	}
	same := cmp.Comparer(func(a, b bson.Decimal128) bool { return a.String() == b.String() })
	if diff := cmp.Diff(want, document.Fields(&doc), same); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// Trap: a document that the server refuses stops all others. What BSON cannot hold is kept as a text, or by its size.
//
// part of: S7
func TestKafkaTrap17_WhatADocumentCannotHold(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for payload, want := range map[string]string{
		`{"a\u0000b":1}`: "payload_json", `{"$where":1}`: "payload_json", `{"a.b":1}`: "payload_json", deep: "payload_json",
		`"` + strings.Repeat("x", 16<<20) + `"`: "payload_omitted", `{"a":{"b":1e999}}`: "payload", `"\u0000"`: "payload",
	} {
		doc := letter("s/1", "a", 1, `{"job_id":"a","task_type":"chat","payload":`+payload+`}`)
		names := map[string]bool{}
		for _, e := range document.Fields(&doc) {
			names[e.Key] = true
		}
		if !names[want] || !names["task_type"] {
			t.Errorf("the payload %.40s gives the fields %v, want %s and task_type", payload, names, want)
		}
		if _, err := bson.Marshal(document.Fields(&doc)); err != nil {
			t.Errorf("the payload %.40s: %v", payload, err)
		}
	}
}

// server returns documents in a new database of the server that REDRIVE_TEST_MONGODB names.
func server(t *testing.T) (d *document.Documents, db *mongo.Database) {
	t.Helper()
	url := os.Getenv("REDRIVE_TEST_MONGODB")
	if url == "" {
		t.Skip("no MongoDB: name one as REDRIVE_TEST_MONGODB, or run `make documents`, which takes FerretDB")
	}
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "_", ""))
	d, err := document.Open(&document.Options{URL: url, Database: name})
	if err != nil {
		t.Fatal(err)
	}
	client, err := mongo.Connect(options.Client().ApplyURI(url))
	if err != nil {
		t.Fatal(err)
	}
	db = client.Database(name)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if err := db.Drop(ctx); err != nil {
			t.Error(err)
		}
		_ = client.Disconnect(ctx)
		_ = d.Close(ctx)
	})
	for range 2 { // the second time changes nothing
		if err := d.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return d, db
}

// A document is written once for each dead letter, never goes back, and goes with its dead letter; that of the former
// system becomes ours, and one of another job keeps its id.
//
// part of: S7
func TestS7_DocumentsOnAServer(t *testing.T) {
	t.Parallel()
	d, db := server(t)
	dead := db.Collection(document.DeadDefault)
	put := func(docs ...project.Document) {
		t.Helper()
		if err := d.Put(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
	}
	status := func(jobID string) (found string) {
		t.Helper()
		var row struct{ Status string }
		if err := dead.FindOne(t.Context(), bson.D{{Key: "job_id", Value: jobID}}).Decode(&row); err != nil {
			return err.Error()
		}
		return row.Status
	}
	if _, err := dead.InsertOne(t.Context(), bson.D{{Key: "job_id", Value: "former"}, {Key: "status", Value: "ignored"}, {Key: "their", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	a := letter("s/1", "a", 10, `{"job_id":"a","task_type":"chat","payload":1}`)
	put(a, a, letter("s/2", "a", 11, `{"job_id":"a","task_type":"chat","payload":2}`), letter("s/3", "former", 12, `{"job_id":"former","task_type":"chat","payload":3}`))
	late := a
	late.Rev, late.Status = 9, job.Ignored
	put(late)
	for jobID, want := range map[string]string{"a": "pending", "a#7": "pending", "former": "pending"} {
		if got := status(jobID); got != want {
			t.Errorf("the document of %s is %s, want %s", jobID, got, want)
		}
	}
	later := project.Document{ID: "s/1", From: "s", Rev: 13, DiedAt: died, Status: job.Redriven, Action: "manual_retry", ResolvedAt: died, ResolvedBy: "ann", Job: 7, Life: 2}
	put(later, project.Document{ID: "s/2", Rev: 14, Gone: true})
	var row struct {
		Payload  int64
		Redrive  struct{ Source string }
		Resolved string `bson:"resolved_by"`
	}
	if err := dead.FindOne(t.Context(), bson.D{{Key: "job_id", Value: "a"}, {Key: "status", Value: "retried"}}).Decode(&row); err != nil || row.Payload != 1 || row.Resolved != "ann" || row.Redrive.Source != "alice_tasks/0/3" {
		t.Errorf("after the retry the document is %+v (%v), want it with its payload and its source", row, err)
	}
	if got := status("a#7"); got != mongo.ErrNoDocuments.Error() {
		t.Errorf("the document of the removed dead letter is %s, want none", got)
	}
	if n, err := d.Prune(t.Context(), "s", 13); n != 1 || err != nil {
		t.Errorf("%d documents were removed (%v), want the one that is older", n, err)
	}
	if n, err := dead.CountDocuments(t.Context(), bson.D{}); n != 1 || err != nil {
		t.Errorf("%d documents are left (%v), want one", n, err)
	}
}

// A key is marked once; marks of others are found.
//
// part of: S7, I1
func TestS7_MarksOnAServer(t *testing.T) {
	t.Parallel()
	d, db := server(t)
	marks := db.Collection(document.MarksDefault)
	if _, err := marks.InsertOne(t.Context(), bson.D{{Key: "idempotency_key", Value: "theirs"}, {Key: "job_id", Value: "x"}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Mark(t.Context(), []project.Done{{Key: "theirs", JobID: "y"}, {Key: "ours", JobID: "z", At: died, Summary: "ok"}}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := d.Processed(t.Context(), []string{"ours", "nobody's", "theirs"})
	if diff := cmp.Diff([]bool{true, false, true}, found); diff != "" || err != nil {
		t.Errorf("found (-want +got):\n%s%v", diff, err)
	}
	var row struct {
		JobID string `bson:"job_id"`
	}
	if err := marks.FindOne(t.Context(), bson.D{{Key: "idempotency_key", Value: "theirs"}}).Decode(&row); err != nil || row.JobID != "x" {
		t.Errorf("the mark of others is %+v (%v), want it as it was", row, err)
	}
}

// part of: S7, X3
func TestX3_AddressOfMongoDB(t *testing.T) {
	t.Parallel()
	for _, o := range []document.Options{{URL: "http://u:canary@m", Database: "d"}, {URL: "mongodb://m"}} {
		if _, err := document.Open(&o); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "mongodb://mongo-1:27017") {
			t.Errorf("%s gives %v, want the form of an address and no password", o.URL, err)
		}
	}
}
