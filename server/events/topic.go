package events

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Topic is what a listener can ask for, in the form in which it is written: "job:17".
type Topic struct {
	Name  string // one of the names below
	Value string // what is after the colon; empty for a topic without
}

// The names of topics.
const (
	All     = "all"     // every event
	Job     = "job"     // the events of a job, by its id
	Batch   = "batch"   // of the jobs of a batch, by its number
	Owner   = "owner"   // of the jobs of an owner
	Kind    = "kind"    // of the jobs of a kind
	Queue   = "queue"   // of the jobs and the settings of a queue
	Group   = "group"   // changes of a group of failures, by its fingerprint
	Redrive = "redrive" // changes of a redrive, by its number
	Dead    = "dead"    // deaths, and changes of dead letters
	Queues  = "queues"  // changes of the settings of queues
)

var topicNames = []string{All, Job, Batch, Owner, Kind, Queue, Group, Redrive, Dead, Queues}

// String returns the topic as ParseTopic reads it.
func (t Topic) String() string {
	if t.Value == "" {
		return t.Name
	}
	return t.Name + ":" + t.Value
}

// ParseTopic reads a topic such as "job:17" or "dead".
func ParseTopic(text string) (Topic, error) {
	name, value, valued := strings.Cut(text, ":")
	t := Topic{name, value}
	var err error
	switch name {
	case All, Dead, Queues:
		if valued {
			return Topic{}, fmt.Errorf("topic %.80q: %s takes no value", text, name)
		}
		return t, nil
	case Job:
		_, err = job.ParseID(value)
	case Batch, Redrive:
		var n int64
		if n, err = strconv.ParseInt(value, 10, 64); err == nil && n <= 0 {
			err = fmt.Errorf("%d is not the number of a %s: the numbers begin at 1", n, name)
		}
	case Kind, Queue:
		err = store.ValidName(name, value)
	case Owner, Group:
		if len(value) > job.TextMax {
			err = fmt.Errorf("the value has %d bytes; at most %d are allowed", len(value), job.TextMax)
		}
	default:
		return Topic{}, fmt.Errorf("%s", suggest.Unknown("topic", name, topicNames))
	}
	if value == "" {
		return Topic{}, fmt.Errorf("topic %.80q: write a colon and a value after the name, such as %s:17", text, name)
	}
	if err != nil {
		return Topic{}, fmt.Errorf("topic %.80q: %w", text, err)
	}
	return t, nil
}

// byType are the topics of events that are not about one job alone. The value of a redrive or a
// group is the note of the event.
var byType = map[event.Type]string{
	event.QueueChanged: Queues, event.RedriveChanged: Redrive, event.GroupChanged: Group,
	event.DeadLetterChanged: Dead, event.DeadLetterPurged: Dead,
}

// topicsOf returns the topics of an event.
func topicsOf(e *event.Event) []Topic {
	all := make([]Topic, 1, 8)
	all[0] = Topic{Name: All}
	add := func(name, value string) { all = append(all, Topic{name, value}) }
	if e.Job != 0 {
		add(Job, e.Job.String())
	}
	if e.Batch != 0 {
		add(Batch, strconv.FormatInt(e.Batch, 10))
	}
	if e.Owner != "" {
		add(Owner, e.Owner)
	}
	if e.Kind != "" {
		add(Kind, e.Kind)
	}
	if e.Queue != "" {
		add(Queue, e.Queue)
	}
	if of, ok := byType[e.Type]; ok {
		value := ""
		if of == Redrive || of == Group {
			value = e.Note
		}
		add(of, value)
	}
	if e.To == job.Dead || e.From == job.Dead {
		if last := all[len(all)-1]; last.Name != Dead {
			add(Dead, "")
		}
	}
	return all
}
