package policy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// recordVersion is the format number of a stored decision.
const recordVersion = 2

// sawMax is the number of bytes that a record keeps of the error text in which the rule
// found the class.
const sawMax = 160

// Record is the form of a decision that is stored with its failure. Times are in microseconds
// and costs in millionths of a US dollar.
type Record struct {
	V        int             `json:"v"`
	Action   string          `json:"action"`
	Rule     string          `json:"rule"`
	Class    failure.Class   `json:"class,omitempty"`
	Verdict  failure.Verdict `json:"verdict,omitempty"`
	Dead     string          `json:"dead,omitempty"` // the reason of death
	N        int             `json:"n,omitempty"`    // number of the next retry, starting at 1
	Of       int             `json:"of,omitempty"`   // number of retries that are allowed
	Wait     int64           `json:"wait_us,omitempty"`
	Queue    string          `json:"queue,omitempty"`
	Priority int             `json:"priority,omitempty"`

	By        string            `json:"by,omitempty"` // the rule that found the class
	Rank      string            `json:"rank,omitempty"`
	Saw       string            `json:"saw,omitempty"`
	Code      string            `json:"code,omitempty"`
	Outranked []OutrankedRecord `json:"beat,omitempty"`
	Weighing  *WeighingRecord   `json:"weighed,omitempty"` // what was weighed, if no strong evidence decided

	Drawn       int64   `json:"drawn_us,omitempty"`
	Nominal     int64   `json:"nominal_us,omitempty"`
	Ceiling     int64   `json:"ceiling_us,omitempty"`
	U           float64 `json:"u,omitempty"`
	Growth      string  `json:"growth,omitempty"`    // the nominal wait as a formula, such as "30s × 2^(n−1)"
	Spreading   string  `json:"spreading,omitempty"` // the jitter, such as "±20 %"
	Borders     string  `json:"borders,omitempty"`   // the limits of the wait, such as "cap 1h"
	BackoffFrom Level   `json:"backoff_from,omitempty"`

	Hint     int64  `json:"hint_us,omitempty"`
	HintMode string `json:"hint_mode,omitempty"` // how the Retry-After hint was used: "cap" means cut to the cap, "off" means not at all, "" means as the shortest wait

	Count         string `json:"count,omitempty"` // what n counts: "total" for all failures; empty for the failures of the class
	RetriesFrom   Level  `json:"retries_from,omitempty"`
	ClassFailures int    `json:"class_failures,omitempty"`
	Failures      int    `json:"failures,omitempty"`
	HandOvers     int    `json:"handovers,omitempty"` // number of hand-overs in this life
	HandOversMax  *int   `json:"max_handovers,omitempty"`
	TotalMax      *int   `json:"max_total_retries,omitempty"`
	MaxAttempts   int    `json:"max_attempts,omitempty"`
	Age           int64  `json:"age_us,omitempty"`
	MaxAge        int64  `json:"max_age_us,omitempty"`
	Deadline      int64  `json:"deadline_us,omitempty"` // time until the deadline
	Cost          int64  `json:"cost,omitempty"`
	CostMax       *int64 `json:"max_cost,omitempty"`

	Policy string   `json:"policy,omitempty"`
	Hash   string   `json:"hash,omitempty"`
	Rules  []string `json:"rules,omitempty"` // names of the rules that match the attributes of the job

	Would *WouldRecord `json:"would,omitempty"` // what the policy would have done; set if the policy only observes
}

// OutrankedRecord is evidence that was not used, because stronger evidence decided the class.
type OutrankedRecord struct {
	Rule  string        `json:"rule"`
	Class failure.Class `json:"class,omitempty"`
	Rank  string        `json:"rank,omitempty"`
	Saw   string        `json:"saw,omitempty"`
}

// WeighingRecord is what weak evidence weighed.
type WeighingRecord struct {
	Sure    int            `json:"sure"`              // how likely the verdict is right, in percent
	For     []WeightRecord `json:"for,omitempty"`     // what weighed most for the class, the heaviest first
	Against []WeightRecord `json:"against,omitempty"` // and against it
	Weights string         `json:"weights"`           // the version of the weights
}

// WeightRecord is what one word, or one rule, weighed.
type WeightRecord struct {
	What   string `json:"what"`
	Points int    `json:"points"` // in hundredths of a nat: 69 makes the class twice as likely
}

// WouldRecord says what a policy in observe mode would have done.
type WouldRecord struct {
	Action   string `json:"action"`
	Rule     string `json:"rule"`
	Dead     string `json:"dead,omitempty"`
	N        int    `json:"n,omitempty"`
	Of       int    `json:"of,omitempty"`
	Wait     int64  `json:"wait_us,omitempty"`
	Queue    string `json:"queue,omitempty"`
	Priority int    `json:"priority,omitempty"`
}

// ParseRecord decodes a stored decision. It returns an error if the decision is damaged or
// has another format.
func ParseRecord(b []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("stored decision: %w", err)
	}
	if r.V != recordVersion {
		return Record{}, fmt.Errorf("stored decision: format %d, this program reads format %d: use the version that wrote it", r.V, recordVersion)
	}
	return r, nil
}

// Record returns the stored form of the decision, as JSON.
func (d *Decision) Record() []byte { return d.Append(make([]byte, 0, 1024)) }

// Append appends the stored form of the decision to dst: one JSON object, which ParseRecord
// reads.
func (d *Decision) Append(dst []byte) []byte {
	w := recordWriter{dst}
	w.word(`{"v":2,"action":"`, d.Action.String())
	w.word(`,"rule":"`, d.Rule)
	w.text(`,"class":`, string(d.Class))
	w.word(`,"verdict":"`, string(d.Verdict))
	w.word(`,"dead":"`, string(d.Reason))
	w.number(`,"n":`, int64(d.N))
	w.number(`,"of":`, int64(d.Of))
	w.number(`,"wait_us":`, d.Wait.Microseconds())
	w.text(`,"queue":`, d.Queue)
	w.number(`,"priority":`, int64(d.Priority))
	w.class(&d.By)
	w.curve(d)
	w.number(`,"hint_us":`, d.Hint.Microseconds())
	if d.Hint > 0 {
		w.word(`,"hint_mode":"`, hintModeWords[min(d.HintMode, HintOff)])
	}
	w.counters(d)
	w.text(`,"policy":`, d.Policy)
	w.text(`,"hash":`, d.Hash)
	w.texts(`,"rules":`, d.Rules)
	if d.Observed {
		w.would(&d.Would)
	}
	return append(w.b, '}')
}

var hintModeWords = [...]string{"", "cap", "off"}

// recordWriter writes the members of a JSON object. It writes a comma before each member
// and leaves out members with zero values.
type recordWriter struct{ b []byte }

// word writes a word of this package, which needs no JSON escapes. The key must include the
// opening quote of the value.
func (w *recordWriter) word(key, s string) {
	if s != "" {
		w.b = append(append(append(w.b, key...), s...), '"')
	}
}

func (w *recordWriter) text(key, s string) {
	if s != "" {
		w.b = appendString(append(w.b, key...), s)
	}
}

func (w *recordWriter) number(key string, n int64) {
	if n != 0 {
		w.bound(key, n, true)
	}
}

func (w *recordWriter) bound(key string, n int64, there bool) {
	if there {
		w.b = strconv.AppendInt(append(w.b, key...), n, 10)
	}
}

func (w *recordWriter) texts(key string, all []string) {
	if len(all) == 0 {
		return
	}
	w.b = append(w.b, key...)
	for i, s := range all {
		w.b = appendString(append(w.b, "[,"[min(i, 1)]), s)
	}
	w.b = append(w.b, ']')
}

func (w *recordWriter) class(c *classify.Classification) {
	w.text(`,"by":`, c.Rule)
	w.rank(c.Rank)
	w.text(`,"saw":`, cut(c.Saw))
	w.text(`,"code":`, c.Code)
	w.weighing(c.Weighing)
	if c.Outranked[0].Rule == "" {
		return
	}
	w.b = append(w.b, `,"beat":`...)
	for i := range c.Outranked {
		b := &c.Outranked[i]
		if b.Rule == "" {
			break
		}
		w.b = append(w.b, "[,"[min(i, 1)])
		w.text(`{"rule":`, b.Rule)
		w.text(`,"class":`, string(b.Class))
		w.rank(b.Rank)
		w.text(`,"saw":`, cut(b.Saw))
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}

func (w *recordWriter) weighing(g *classify.Weighing) {
	if g == nil {
		return
	}
	w.bound(`,"weighed":{"sure":`, int64(g.Sure), true)
	w.weights(`,"for":[`, &g.For)
	w.weights(`,"against":[`, &g.Against)
	w.word(`,"weights":"`, g.Weights)
	w.b = append(w.b, '}')
}

func (w *recordWriter) weights(key string, all *[3]classify.Weight) {
	if all[0].What == "" {
		return
	}
	w.b = append(w.b, key...)
	for i := range all {
		if all[i].What == "" {
			break
		}
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.text(`{"what":`, cut(all[i].What))
		w.bound(`,"points":`, int64(all[i].Points), true)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}

func (w *recordWriter) rank(r classify.Rank) {
	if r != classify.RankNone {
		w.word(`,"rank":"`, r.String())
	}
}

func (w *recordWriter) curve(d *Decision) {
	if d.curve == nil {
		return
	}
	w.number(`,"drawn_us":`, d.Drawn.Microseconds())
	w.number(`,"nominal_us":`, d.Nominal.Microseconds())
	w.number(`,"ceiling_us":`, d.Ceiling.Microseconds())
	if d.U != 0 {
		w.b = strconv.AppendFloat(append(w.b, `,"u":`...), d.U, 'g', -1, 64)
	}
	w.b = append(w.b, d.curve.stored...)
	w.word(`,"backoff_from":"`, string(d.BackoffFrom))
}

func (w *recordWriter) counters(d *Decision) {
	if d.Count == Total {
		w.word(`,"count":"`, "total")
	}
	w.word(`,"retries_from":"`, string(d.RetriesFrom))
	w.number(`,"class_failures":`, int64(d.ClassFailures))
	w.number(`,"failures":`, int64(d.Failures))
	w.number(`,"handovers":`, int64(d.HandOvers))
	w.bound(`,"max_handovers":`, int64(d.HandOversMax), d.HandOversMax > 0 || d.Rule == RuleHandOver)
	w.bound(`,"max_total_retries":`, int64(d.TotalMax), d.TotalBound)
	w.number(`,"max_attempts":`, int64(d.MaxAttempts))
	w.number(`,"age_us":`, d.Age.Microseconds())
	w.number(`,"max_age_us":`, d.MaxAge.Microseconds())
	w.number(`,"deadline_us":`, d.Deadline.Microseconds())
	w.number(`,"cost":`, d.Cost)
	w.bound(`,"max_cost":`, d.CostMax, d.CostBound)
}

func (w *recordWriter) would(o *Would) {
	w.word(`,"would":{"action":"`, o.Action.String())
	w.word(`,"rule":"`, o.Rule)
	w.word(`,"dead":"`, string(o.Reason))
	w.number(`,"n":`, int64(o.N))
	w.number(`,"of":`, int64(o.Of))
	w.number(`,"wait_us":`, o.Wait.Microseconds())
	w.text(`,"queue":`, o.Queue)
	w.number(`,"priority":`, int64(o.Priority))
	w.b = append(w.b, '}')
}

// cut shortens a text to at most sawMax bytes without cutting a character.
func cut(s string) string {
	if len(s) <= sawMax {
		return s
	}
	end := sawMax
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// appendString appends a JSON string. Most texts need no escapes and are copied as a whole.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s { // invalid UTF-8 becomes the Unicode replacement character
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r < ' ' || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// micros converts microseconds to a duration.
func micros(us int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Microsecond)
	return time.Duration(min(max(us, -most), most)) * time.Microsecond
}
