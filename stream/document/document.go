// Package document keeps dead letters and marks of processed tasks in MongoDB, in the collections and with the fields that
// the chat system's programs use. The documents are a picture of the store: changing them changes nothing.
package document

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/redrive/redrive/stream/project"
)

// The names of the collections, and the times of calls.
const (
	DeadDefault  = "dead_letter_queue"
	MarksDefault = "processed_jobs"
	callMax      = 10 * time.Second
	askAtOnce    = 1_000 // keys in one question
)

// Options are the settings of the documents.
type Options struct {
	URL      string // mongodb://host:port or mongodb+srv://…
	Password string // replaces that of the URL
	Database string // required
	Dead     string // the collection of dead letters; default DeadDefault
	Marks    string // the collection of processed keys; default MarksDefault
}

// Documents keeps documents.
type Documents struct {
	client      *mongo.Client
	dead, marks *mongo.Collection
}

// Open returns the documents of a server, which it does not connect to yet. The error never has a password.
func Open(o *Options) (*Documents, error) {
	settings := options.Client().ApplyURI(o.URL)
	if err := settings.Validate(); err != nil || o.Database == "" {
		return nil, errors.New("documents: the address of MongoDB must be such as mongodb://mongo-1:27017, and the database must be named")
	}
	if settings.Auth != nil && o.Password != "" {
		settings.Auth.Password, settings.Auth.PasswordSet = o.Password, true
	}
	if settings.WriteConcern == nil {
		journal := true
		settings.WriteConcern = &writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal}
	}
	settings.SetServerSelectionTimeout(callMax).SetAppName("redrive-stream")
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, errors.New("documents: the settings of MongoDB cannot be used")
	}
	db := client.Database(o.Database)
	return &Documents{client: client, dead: db.Collection(cmp.Or(o.Dead, DeadDefault)), marks: db.Collection(cmp.Or(o.Marks, MarksDefault))}, nil
}

// Close ends the connections.
func (d *Documents) Close(ctx context.Context) error {
	if err := d.client.Disconnect(ctx); err != nil {
		return fmt.Errorf("documents: %w", err)
	}
	return nil
}

// Init makes the indexes that are missing.
func (d *Documents) Init(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, callMax)
	defer stop()
	unique := options.Index().SetUnique(true)
	var err error
	for _, index := range []struct {
		of *mongo.Collection
		mongo.IndexModel
	}{
		{d.dead, mongo.IndexModel{Keys: bson.D{{Key: "status", Value: 1}, {Key: "dlq_timestamp", Value: -1}}}},
		{d.dead, mongo.IndexModel{Keys: bson.D{{Key: "task_type", Value: 1}, {Key: "status", Value: 1}}}},
		{d.dead, mongo.IndexModel{Keys: bson.D{{Key: "job_id", Value: 1}}, Options: unique}},
		{d.dead, mongo.IndexModel{Keys: bson.D{{Key: "redrive.id", Value: 1}}}},
		{d.marks, mongo.IndexModel{Keys: bson.D{{Key: "idempotency_key", Value: 1}}, Options: unique}},
		{d.marks, mongo.IndexModel{Keys: bson.D{{Key: "processed_at", Value: 1}}}},
	} {
		if err == nil {
			_, err = index.of.Indexes().CreateOne(ctx, index.IndexModel)
		}
	}
	if err != nil {
		return fmt.Errorf("documents: make the indexes: %w", err)
	}
	return nil
}

// Put implements project.DocumentStore.
func (d *Documents) Put(ctx context.Context, all []project.Document) error {
	for i := range all {
		err := d.put(ctx, &all[i])
		if tooLarge(err) {
			return &project.Refused{Index: i, Err: err}
		}
		if err != nil {
			return fmt.Errorf("documents: %w", err)
		}
	}
	return nil
}

func (d *Documents) put(ctx context.Context, doc *project.Document) error {
	ctx, stop := context.WithTimeout(ctx, callMax)
	defer stop()
	byID := bson.D{{Key: "redrive.id", Value: doc.ID}}
	older := append(bson.D{{Key: "redrive.rev", Value: bson.D{{Key: "$lt", Value: doc.Rev}}}}, byID...)
	if doc.Gone {
		_, err := d.dead.DeleteMany(ctx, byID)
		return err //nolint:wrapcheck // Put does
	}
	set := bson.D{{Key: "$set", Value: Fields(doc)}}
	if doc.Task == nil { // the payload is not kept any more: the document has it
		_, err := d.dead.UpdateOne(ctx, older, set)
		return err //nolint:wrapcheck // Put does
	}
	found := d.dead.FindOne(ctx, byID)
	if err := found.Err(); err == nil {
		_, err := d.dead.UpdateOne(ctx, older, set)
		return err //nolint:wrapcheck // Put does
	} else if !errors.Is(err, mongo.ErrNoDocuments) {
		return err //nolint:wrapcheck // Put does
	}
	// A document of the former system becomes the job's; one of another job keeps its id.
	former := bson.D{{Key: "job_id", Value: doc.JobID}, {Key: "redrive", Value: bson.D{{Key: "$exists", Value: false}}}}
	for _, id := range []string{doc.JobID, fmt.Sprintf("%s#%d", doc.JobID, doc.Job)} {
		former[0].Value = id
		_, err := d.dead.UpdateOne(ctx, former, set, options.UpdateOne().SetUpsert(true))
		if !mongo.IsDuplicateKeyError(err) {
			return err //nolint:wrapcheck // Put does
		}
		setField(set, "job_id", fmt.Sprintf("%s#%d", doc.JobID, doc.Job))
	}
	return fmt.Errorf("the job_id %q and its number are both those of other documents", doc.JobID)
}

func setField(set bson.D, name, value string) {
	fields, _ := set[0].Value.(bson.D)
	for i := range fields {
		if fields[i].Key == name {
			fields[i].Value = value
		}
	}
}

func tooLarge(err error) bool {
	var command mongo.CommandError
	var write mongo.WriteException
	switch {
	case errors.As(err, &command):
		return command.Code == 10334 || command.Code == 17419
	case errors.As(err, &write):
		return write.HasErrorCode(10334) || write.HasErrorCode(17419)
	}
	return false
}

// Prune implements project.DocumentStore.
func (d *Documents) Prune(ctx context.Context, from string, rev int64) (int64, error) {
	gone, err := d.dead.DeleteMany(ctx, bson.D{{Key: "redrive.store", Value: from}, {Key: "redrive.rev", Value: bson.D{{Key: "$lt", Value: rev}}}})
	if err != nil {
		return 0, fmt.Errorf("documents: remove old ones: %w", err)
	}
	return gone.DeletedCount, nil
}

// Fields are the fields of a document that Put sets.
func Fields(doc *project.Document) bson.D {
	fields := bson.D{}
	if doc.Task != nil {
		fields = task(doc)
	}
	var resolution, at, by any
	if doc.Action != "" {
		resolution = bson.D{{Key: "action", Value: string(doc.Action)}, {Key: "notes", Value: doc.Notes}}
		at, by = doc.ResolvedAt, doc.ResolvedBy
	}
	about := bson.D{{Key: "id", Value: doc.ID}, {Key: "store", Value: doc.From}, {Key: "rev", Value: doc.Rev}, {Key: "job", Value: int64(doc.Job)}, {Key: "life", Value: int64(doc.Life)},
		{Key: "class", Value: doc.Class}, {Key: "code", Value: doc.Code}, {Key: "group", Value: doc.Group}, {Key: "source", Value: doc.Source}}
	fields = append(fields, bson.E{Key: "dlq_reason", Value: string(doc.Reason)}, bson.E{Key: "dlq_timestamp", Value: doc.DiedAt},
		bson.E{Key: "status", Value: doc.Status.String()}, bson.E{Key: "resolution", Value: resolution}, bson.E{Key: "resolved_at", Value: at}, bson.E{Key: "resolved_by", Value: by})
	if doc.Task == nil { // the source is known from the payload's job only
		for _, e := range about {
			if e.Key != "source" {
				fields = append(fields, bson.E{Key: "redrive." + e.Key, Value: e.Value})
			}
		}
		return fields
	}
	return append(fields, bson.E{Key: "redrive", Value: about})
}

// ours are the names of the fields that are not the task's.
var ours = []string{"_id", "redrive", "dlq_reason", "dlq_timestamp", "status", "resolution", "resolved_at", "resolved_by", "payload_omitted", "fields_json"}

// task returns the fields of the task. What BSON cannot hold is a text; of a payload that is too large, the size and the sum are kept.
func task(doc *project.Document) bson.D {
	d := json.NewDecoder(bytes.NewReader(doc.Task))
	_, _ = d.Token() // it is an object
	fields, others := bson.D{}, bson.D{}
	for d.More() {
		t, err := d.Token()
		var raw json.RawMessage
		if err == nil {
			err = d.Decode(&raw)
		}
		if err != nil {
			return append(fields, bson.E{Key: "fields_json", Value: string(doc.Task)}) // This cannot happen.
		}
		name, _ := t.(string)
		value, err := fromJSON(raw)
		switch {
		case name == "" || name[0] == '$' || strings.ContainsAny(name, ".\x00") || slices.Contains(ours, name):
			others = append(others, bson.E{Key: name, Value: raw})
		case name == "payload" && len(raw) > sizeMax:
			sum := sha256.Sum256(raw)
			fields = append(fields, bson.E{Key: "payload_omitted", Value: bson.D{{Key: "bytes", Value: int64(len(raw))}, {Key: "sha256", Value: hex.EncodeToString(sum[:])}}})
		case err != nil:
			fields = append(fields, bson.E{Key: name + "_json", Value: string(raw)})
		default:
			if meta, ok := value.(bson.D); ok && name == "metadata" {
				dated(meta, "created_at", "last_retry_at")
			}
			fields = append(fields, bson.E{Key: name, Value: value})
		}
	}
	if len(others) == 0 {
		return fields
	}
	kept := make(map[string]json.RawMessage, len(others))
	for _, e := range others {
		kept[e.Key], _ = e.Value.(json.RawMessage)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fields // This cannot happen: they are JSON.
	}
	return append(fields, bson.E{Key: "fields_json", Value: string(text)})
}

// Mark implements project.Marker: it adds a document for each key that has none.
func (d *Documents) Mark(ctx context.Context, done []project.Done) error {
	ctx, stop := context.WithTimeout(ctx, callMax)
	defer stop()
	all := make([]any, len(done))
	for i := range done {
		m := &done[i]
		all[i] = bson.D{{Key: "idempotency_key", Value: m.Key}, {Key: "job_id", Value: m.JobID}, {Key: "processed_at", Value: m.At}, {Key: "result", Value: m.Summary}}
	}
	_, err := d.marks.InsertMany(ctx, all, options.InsertMany().SetOrdered(false))
	if err != nil && !onlyDuplicates(err) {
		return fmt.Errorf("documents: marks: %w", err)
	}
	return nil
}

func onlyDuplicates(err error) bool {
	var many mongo.BulkWriteException
	if !errors.As(err, &many) || many.WriteConcernError != nil {
		return false
	}
	for i := range many.WriteErrors {
		if !mongo.IsDuplicateKeyError(many.WriteErrors[i]) {
			return false
		}
	}
	return true
}

// Processed reports for each key whether a document says that it was processed.
func (d *Documents) Processed(ctx context.Context, keys []string) ([]bool, error) {
	found := make([]bool, len(keys))
	for from := 0; from < len(keys); from += askAtOnce {
		if err := d.ask(ctx, keys[from:min(from+askAtOnce, len(keys))], found[from:]); err != nil {
			return nil, fmt.Errorf("documents: marks: %w", err)
		}
	}
	return found, nil
}

func (d *Documents) ask(ctx context.Context, keys []string, found []bool) error {
	ctx, stop := context.WithTimeout(ctx, callMax)
	defer stop()
	rows, err := d.marks.Find(ctx, bson.D{{Key: "idempotency_key", Value: bson.D{{Key: "$in", Value: keys}}}},
		options.Find().SetProjection(bson.D{{Key: "idempotency_key", Value: 1}}))
	if err != nil {
		return err //nolint:wrapcheck // Processed does
	}
	var all []struct {
		Key string `bson:"idempotency_key"`
	}
	if err := rows.All(ctx, &all); err != nil {
		return err //nolint:wrapcheck // Processed does
	}
	known := make(map[string]bool, len(all))
	for _, row := range all {
		known[row.Key] = true
	}
	for i, key := range keys {
		found[i] = known[key]
	}
	return nil
}
