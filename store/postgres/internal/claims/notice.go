package claims

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/job"
)

// Notice is what a commit means to waiting processes: where jobs became ready, and whether people have changed
// something. It is sent as the text of a notification.
type Notice struct {
	// All says that anything may have changed; then the other fields are not used.
	All bool
	// Signals says that settings of queues or requests to stop may have changed.
	Signals bool
	// Ready is when the earliest of the new ready jobs of a place is due.
	Ready map[Place]job.Micros
}

// Place is what a claim reads: the jobs of a lane that have a priority.
type Place struct {
	Lane     int64
	Priority int8
}

// noticeMax bounds the places that one notification names: its text may have 8,000 bytes. More become AnyChange.
const noticeMax = 128

// AnyChange is the notice that anything may have changed.
var AnyChange = Notice{All: true}

// Add notes that a job became ready.
func (n *Notice) Add(lane int64, priority int8, at job.Micros) {
	if n.All {
		return
	}
	if n.Ready == nil {
		n.Ready = make(map[Place]job.Micros)
	}
	place := Place{lane, priority}
	if before, ok := n.Ready[place]; !ok || at < before {
		n.Ready[place] = at
	}
	if len(n.Ready) > noticeMax {
		*n = AnyChange
	}
}

// Merge adds what another piece says.
func (n *Notice) Merge(o Notice) {
	if n.All || o.All {
		*n = AnyChange
		return
	}
	n.Signals = n.Signals || o.Signals
	for place, at := range o.Ready {
		n.Add(place.Lane, place.Priority, at)
	}
}

// Empty reports whether there is nothing to say.
func (n *Notice) Empty() bool { return !n.All && !n.Signals && len(n.Ready) == 0 }

// Text returns the form of a notification: who sends it, a bar, and "*" for all,
// or parts with commas between them: "s" for signals, "lane.priority@due".
func (n *Notice) Text(sender string) string {
	b := []byte(sender + "|")
	if n.All {
		return string(append(b, '*'))
	}
	if n.Signals {
		b = append(b, "s,"...)
	}
	places := make([]Place, 0, len(n.Ready))
	for place := range n.Ready {
		places = append(places, place)
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Priority, b.Priority))
	})
	for _, place := range places {
		b = strconv.AppendInt(b, place.Lane, 10)
		b = append(b, '.')
		b = strconv.AppendInt(b, int64(place.Priority), 10)
		b = append(b, '@')
		b = strconv.AppendInt(b, int64(n.Ready[place]), 10)
		b = append(b, ',')
	}
	return strings.TrimSuffix(string(b), ",")
}

var errNotice = errors.New("not a notification of redrive's")

// ParseNotice reads the text of a notification.
func ParseNotice(s string) (sender string, n Notice, err error) {
	sender, rest, ok := strings.Cut(s, "|")
	if !ok {
		return "", n, errNotice
	}
	if rest == "*" {
		return sender, AnyChange, nil
	}
	for part := range strings.SplitSeq(rest, ",") {
		switch place, due, found := strings.Cut(part, "@"); {
		case part == "":
		case part == "s":
			n.Signals = true
		case !found:
			return "", Notice{}, errNotice
		default:
			lane, priority, _ := strings.Cut(place, ".")
			l, err1 := strconv.ParseInt(lane, 10, 64)
			p, err2 := strconv.ParseInt(priority, 10, 8)
			at, err3 := strconv.ParseInt(due, 10, 64)
			if errors.Join(err1, err2, err3) != nil {
				return "", Notice{}, errNotice
			}
			n.Add(l, int8(p), job.Micros(at))
		}
	}
	return sender, n, nil
}
