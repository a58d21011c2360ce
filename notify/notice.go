// Package notify says who hears of what: the rules of notifications, the notices that follow from a
// change, and the windows that join many of them into one. The package is pure: it does no I/O and
// reads no clock. The stores call it in the transaction of a change, so a notice exists if and only
// if its cause was committed. The packages notify/mail and notify/webhook send notices.
package notify

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
)

// Kinds and the queue of the jobs that send notices. Kinds that begin with Prefix are redrive's own:
// a program cannot enqueue jobs of such kinds.
const (
	Prefix      = "redrive."
	KindMail    = "redrive.mail"
	KindWebhook = "redrive.webhook"
	Queue       = "redrive.notify"
)

// Sends reports whether jobs of a kind send notices. No notice is made because of such a job.
func Sends(kind string) bool { return kind == KindMail || kind == KindWebhook }

// Event is why a notice is made. The words are stored.
type Event string

// The events. A rule can name all but Digest and Test. BatchEnd in a rule means each of the three
// ends; a notice always has the end itself.
const (
	BatchReady   Event = "batch.ready"   // a batch ended, and all its members are completed
	BatchPartial Event = "batch.partial" // a batch ended, and some of its members are dead or cancelled
	BatchFailed  Event = "batch.failed"  // a batch ended without a completed member
	BatchEnd     Event = "batch.end"
	BatchExpired Event = "batch.expired"
	MemberDead   Event = "member.dead" // a counted member of a batch died
	JobDead      Event = "job.dead"    // a job of no batch died
	JobHeld      Event = "job.held"    // a rule of the policy holds a job until a person decides
	GroupFirst   Event = "group.first" // a job died of a cause that is new, was resolved, or has been absent for QuietGroup
	WebhookOff   Event = "webhook.off" // an endpoint was turned off; only for channels of the type mail
	// RedriveStopped: a redrive was stopped by itself, because too many of its jobs failed again.
	RedriveStopped Event = "redrive.stopped"
	Digest         Event = "digest" // what happened in a window
	Test           Event = "redrive.test"
)

// Notice is one message to one recipient. As JSON it is the payload of a job of KindMail or
// KindWebhook. All that a reader of the message sees is frozen when the notice is made.
type Notice struct {
	V       int    `json:"v"` // the version of this form: 1
	On      Event  `json:"on"`
	ID      string `json:"id"`      // 32 hexadecimal digits, the same in all attempts and lives of the job
	Channel string `json:"channel"` // name of the channel in the rules
	// To is the recipient: an address or OwnerPrefix and an owner for a mail, the name of an endpoint
	// for a webhook. An address that comes from an attribute is not checked: the sender refuses a wrong
	// one, so that the notice is a dead letter that people see.
	To      string  `json:"to"`
	Team    bool    `json:"team,omitempty"` // whether the texts are those for operators
	Subject Subject `json:"subject"`
	Facts   Facts   `json:"facts"` // of a webhook only At and Link: the others are in Body
	// Body is what a webhook sends and signs: these bytes, at most WebhookMax. It is empty for a mail.
	Body   json.RawMessage `json:"body,omitempty"`
	MadeAt Time            `json:"made_at"`

	// Kind, Key and Correlation are those of the notice's job. They are not in the payload.
	Kind        string `json:"-"`
	Key         string `json:"-"`
	Correlation string `json:"-"`
}

// Time is a job.Micros whose JSON form is a number.
type Time job.Micros

// OwnerPrefix begins the recipient of a notice whose address the program finds by the job's owner.
const OwnerPrefix = "owner:"

// Subject is what a notice is about. Fields that do not apply are 0 or empty.
type Subject struct {
	Batch    int64  `json:"batch,omitempty"`
	Outcome  int64  `json:"outcome,omitempty"` // number of the batch's outcome
	Job      job.ID `json:"job,omitempty"`
	Death    int64  `json:"death,omitempty"` // number of the death
	Group    string `json:"group,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Redrive  int64  `json:"redrive,omitempty"`
}

// Facts are what a notice says. Templates of mails and the data of webhooks take their values from
// it. Texts contain no secrets and no invisible characters; a message has at most 500 bytes, any other
// text at most 200. Without Notice.Team, messages contain no paths and IP addresses either. A notice about a job has Job, and Batch
// if the job is a member; one about a batch has Batch; Digest has Digest, and Batch if the window
// is that of a batch; WebhookOff has Endpoint, and RedriveStopped has Redrive.
type Facts struct {
	Job      *JobFacts      `json:"job,omitempty"`
	Batch    *BatchFacts    `json:"batch,omitempty"`
	Digest   *DigestFacts   `json:"digest,omitempty"`
	Endpoint *EndpointFacts `json:"endpoint,omitempty"`
	Redrive  *RedriveFacts  `json:"redrive,omitempty"`
	At       string         `json:"at"`             // when it happened: RFC 3339 in UTC
	Link     string         `json:"link,omitempty"` // a page about it; "" without base_url in the rules
}

// JobFacts are what a notice says about a job.
type JobFacts struct {
	ID          string            `json:"id"`
	Kind        string            `json:"kind"`
	Queue       string            `json:"queue"`
	Owner       string            `json:"owner"`
	Correlation string            `json:"correlation"`
	Key         string            `json:"key"` // idempotency key; of a member, its key in the batch
	Life        int32             `json:"life"`
	Attempts    int32             `json:"attempts"`
	Crashes     int32             `json:"crashes"`
	Reason      string            `json:"reason"` // why the job died: a job.Reason
	Class       string            `json:"class"`
	Code        string            `json:"code"`
	Group       string            `json:"group"`
	Message     string            `json:"message"`         // the text for users, or the one for operators with Notice.Team
	Attrs       map[string]string `json:"attrs,omitempty"` // up to AttrsMax attributes that are texts
	At          string            `json:"at"`
	Retried     bool              `json:"retried,omitempty"` // in a digest: whether the job was retried after this death
	Link        string            `json:"link,omitempty"`
}

// BatchFacts are what a notice says about a batch, with the counts of the moment.
type BatchFacts struct {
	ID        string            `json:"id"`
	Key       string            `json:"key"`
	Name      string            `json:"name"` // the name, or else the key, or else "batch ID"
	Owner     string            `json:"owner"`
	State     string            `json:"state"` // READY, PARTIAL, FAILED, EXPIRED or PROCESSING
	Outcome   int64             `json:"outcome"`
	Total     int64             `json:"total"`
	Completed int64             `json:"completed"`
	Dead      int64             `json:"dead"`
	Cancelled int64             `json:"cancelled"`
	Attrs     map[string]string `json:"attrs,omitempty"`
	Link      string            `json:"link,omitempty"`
}

// DigestFacts are the list of what happened in a window.
type DigestFacts struct {
	N      int64        `json:"n"`                 // number of deaths or outcomes that the digest is about
	Items  []JobFacts   `json:"items,omitempty"`   // the first of the deaths, at most ItemsMax
	Ended  []BatchFacts `json:"batches,omitempty"` // the first of the outcomes, at most ItemsMax
	More   int64        `json:"more"`              // how many of N are not in the lists
	Causes []CauseCount `json:"causes,omitempty"`  // the five largest, the largest first
	Since  string       `json:"since"`
	Until  string       `json:"until"`
}

// CauseCount is how many deaths of a digest have a class and a code.
type CauseCount struct {
	Class string `json:"class"`
	Code  string `json:"code"`
	N     int64  `json:"n"`
}

// EndpointFacts are what a notice says about an endpoint of webhooks.
type EndpointFacts struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// RedriveFacts are what a notice says about a redrive, with the counts of the moment.
type RedriveFacts struct {
	ID        string `json:"id"`
	By        string `json:"by"`               // who started it
	Reason    string `json:"reason,omitempty"` // why it was started
	Why       string `json:"why"`              // why it was stopped
	Total     int64  `json:"total"`
	Released  int64  `json:"released"`
	Completed int64  `json:"completed"`
	Dead      int64  `json:"dead"`
	Cancelled int64  `json:"cancelled"`
	Link      string `json:"link,omitempty"`
}

// Limits of notices.
const (
	NoticeMax  = 32 << 10 // maximum size of a notice, the payload of its job, in bytes
	WebhookMax = 20 << 10 // maximum size of the body of a webhook, in bytes
	ItemsMax   = 20       // maximum number of entries that a digest lists
	AttrsMax   = 10       // maximum number of attributes in a notice
	messageMax = 500      // maximum length of a message, in bytes
	lineMax    = 200      // maximum length of any other text, in bytes
)

// KeyKept is how long the store keeps the key of a notice.
const KeyKept = 30 * 24 * time.Hour

// name sets the key and the id of a notice from its event, its subject, a number and its recipient.
func (n *Notice) name(subject string, number int64) {
	to := sha256.Sum256([]byte(n.Channel + "\x00" + n.To))
	n.Key = fmt.Sprintf("%s/%s/%d/%s", n.On, subject, number, hex.EncodeToString(to[:10]))
	// The time makes ids of different databases different, whose jobs have the same numbers.
	id := sha256.Sum256(fmt.Appendf(nil, "%s/%d", n.Key, n.MadeAt))
	n.ID = hex.EncodeToString(id[:16])
}

// New returns the job of the notice without its id and its terms. It is due at once.
func (n *Notice) New() (job.New, error) {
	n.fit()
	payload := encode(n)
	var err error
	if len(payload) > NoticeMax {
		err = fmt.Errorf("notice %s of %d bytes: at most %d are allowed", n.Key, len(payload), NoticeMax)
	}
	digest := sha256.Sum256([]byte(n.ID))
	return job.New{Kind: n.Kind, Queue: Queue, Priority: job.PriorityDefault, Payload: payload,
		Key: n.Key, KeyUntil: job.Micros(n.MadeAt).Add(KeyKept), Digest: digest[:], Correlation: n.Correlation}, err
}

// fit shortens the lists of a digest until the notice is small enough.
func (n *Notice) fit() {
	d := n.Facts.Digest
	for d != nil && len(d.Items)+len(d.Ended) > 0 {
		if len(encode(n)) <= NoticeMax {
			return
		}
		d.shorten()
	}
}

// encode returns the JSON form of texts, numbers, lists and maps, which can always be encoded. It
// escapes no more than JSON needs, so that a text grows to twice its length at most.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (d *DigestFacts) shorten() {
	if n := len(d.Items); n > 0 {
		d.Items = d.Items[:n-1]
	} else {
		d.Ended = d.Ended[:len(d.Ended)-1]
	}
	d.More++
}

// Read reads the payload of a job that sends a notice.
func Read(payload []byte) (*Notice, error) {
	var n Notice
	if err := json.Unmarshal(payload, &n); err != nil {
		return nil, fmt.Errorf("read a notice: %w", err)
	}
	if n.V != 1 {
		return nil, fmt.Errorf("a notice of version %d: this program reads version 1", n.V)
	}
	if id, err := hex.DecodeString(n.ID); err != nil || len(id) != 16 || n.To == "" {
		return nil, fmt.Errorf("a notice without an id of 32 hexadecimal digits, or without a recipient")
	}
	return &n, nil
}

// WebhookID returns the webhook-id of the notice: "msg_" and 26 letters and digits.
func (n *Notice) WebhookID() string {
	raw, _ := hex.DecodeString(n.ID) // Read and name make sure that it is hexadecimal
	return "msg_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw))
}

// NewTest returns a notice that a person sends to try a channel. The number makes each one different.
func NewTest(channel, kind, to string, at job.Micros, number int64) Notice {
	n := Notice{V: 1, On: Test, Channel: channel, To: to, MadeAt: Time(at), Kind: kind, Facts: Facts{At: stamp(at)}}
	return n.finish("test", number, "", nil)
}
