package score

import (
	"encoding/json"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/scan"
)

// Transform is a change of a text that must not change its class.
type Transform struct {
	Name  string
	Apply func(text string) string
}

// Metamorphic reports how many texts keep their class when transforms change them.
type Metamorphic struct {
	Lines   int                `json:"lines"`
	Kept    float64            `json:"kept"`    // the share of the changed texts that kept their class
	By      map[string]float64 `json:"by"`      // for each transform: the share of the changed texts that kept their class
	Changed []Changed          `json:"changed"` // texts that got another class after a transform
}

// Changed is a text that got another class after a transform.
type Changed struct {
	ID        string        `json:"id"`
	Transform string        `json:"transform"`
	From      failure.Class `json:"from"`
	To        failure.Class `json:"to"`
	Rules     [2]string     `json:"rules"`
	Text      string        `json:"text"`
}

// Metamorph classifies each item before and after each transform. It skips items without a
// text.
func Metamorph(items []Item, classOf Classify) *Metamorphic {
	rep := &Metamorphic{By: map[string]float64{}, Changed: []Changed{}}
	all, kept := 0, 0
	for _, t := range Transforms() {
		tried, same := 0, 0
		for i := range items {
			it := items[i]
			if it.Text == "" {
				continue
			}
			before := classOf(it.Evidence())
			it.Text = t.Apply(items[i].Text)
			if it.Text == items[i].Text {
				continue
			}
			after := classOf(it.Evidence())
			tried++
			if before.Class == after.Class || items[i].right(before.Class) && items[i].right(after.Class) {
				same++
				continue
			}
			rep.Changed = append(rep.Changed, Changed{
				ID: it.ID, Transform: t.Name, From: before.Class, To: after.Class, Rules: [2]string{before.Rule, after.Rule}, Text: shorten(it.Text, 240),
			})
		}
		rep.By[t.Name] = 1
		if tried > 0 {
			rep.By[t.Name] = share(same, tried)
		}
		all, kept = all+tried, kept+same
	}
	rep.Lines = len(items)
	rep.Kept = share(kept, all)
	return rep
}

// Transforms returns the transforms that must not change a class.
func Transforms() []Transform {
	return []Transform{
		{"other ids and numbers", otherNumbers},
		{"other hosts", otherHosts},
		{"lower case", strings.ToLower},
		{"upper case", strings.ToUpper},
		{"wrapped in Go", func(s string) string { return "process order: step 3: call partner: " + s }},
		{"wrapped in Java", func(s string) string {
			return "com.example.orders.OrderFailedException: " + s + "\n\tat com.example.orders.Worker.run(Worker.java:412)\n\tat java.base/java.lang.Thread.run(Thread.java:1583)"
		}},
		{"wrapped in Python", func(s string) string {
			return "Traceback (most recent call last):\n  File \"/srv/app/worker.py\", line 404, in run\n    step(order)\nRuntimeError: " + s
		}},
		{"line of a log", func(s string) string { return "2026-11-20T16:11:49.503Z ERROR [worker-4] order=88123401 " + s }},
		{"field of a log", func(s string) string {
			return `{"level":"error","time":"2026-11-20T16:11:49Z","worker":4,"msg":` + quoted(s) + `}`
		}},
		{"JSON or plain", otherForm},
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// otherForm turns a plain text into a JSON object, and a JSON object into one line of text.
func otherForm(text string) string {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return `{"error":{"message":` + quoted(text) + `}}`
	}
	var b strings.Builder
	flatten(&b, object, 0)
	return strings.TrimSuffix(b.String(), ", ")
}

func flatten(b *strings.Builder, v any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sorted(v) {
			switch v[key].(type) {
			case map[string]any, []any:
			default:
				b.WriteString(key + ": ")
			}
			flatten(b, v[key], depth+1)
		}
	case []any:
		for _, x := range v {
			flatten(b, x, depth+1)
		}
	case string:
		b.WriteString(v + ", ")
	default:
		b.WriteString(quotedValue(v) + ", ")
	}
}

func quotedValue(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func sorted(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	for i := range keys { // insertion sort, because there are few keys
		for j := i; j > 0 && keys[j] < keys[j-1]; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}

// otherNumbers changes the digits of ids and of other long numbers. Short numbers do not
// change, because they may be a status, an exit code, a size or a limit.
func otherNumbers(text string) string {
	out := []byte(text)
	for _, t := range scan.Tokens(nil, text) {
		length := t.End - t.Start
		if t.Kind == scan.ID && length >= 8 && !strings.Contains(t.Text(text), ".") || t.Kind == scan.Number && length >= 6 {
			for i := t.Start; i < t.End; i++ {
				if c := out[i]; c >= '0' && c <= '9' && i > t.Start {
					out[i] = '0' + (c-'0'+3)%10
				}
			}
		}
	}
	return string(out)
}

// otherHosts replaces host names and addresses in a text.
func otherHosts(text string) string {
	var b strings.Builder
	last := int32(0)
	for _, t := range scan.Tokens(nil, text) {
		other := ""
		switch t.Kind {
		case scan.Host:
			other = "node-7.example.net"
		case scan.IP:
			if strings.Count(t.Text(text), ".") == 3 {
				other = "198.51.100.23"
			}
		case scan.Email:
			other = "somebody@example.org"
		default:
		}
		if other != "" {
			b.WriteString(text[last:t.Start])
			b.WriteString(other)
			last = t.End
		}
	}
	b.WriteString(text[last:])
	return b.String()
}
