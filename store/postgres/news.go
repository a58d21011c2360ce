package postgres

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/job"
)

// news is what a commit means to those who wait: where jobs became ready, and
// whether people have changed something. It travels as the text of a
// notification.
type news struct {
	// all says that anything may have changed; then the rest is of no interest.
	all bool
	// signals says that settings of queues or requests to stop may have changed.
	signals bool
	// ready is when the earliest of the new ready jobs of a place is due.
	ready map[readyPlace]job.Micros
}

// readyPlace is what a claim seeks in.
type readyPlace struct {
	lane     int64
	priority int8
}

// newsMax bounds the places that one notification names: its text may have 8,000
// bytes. More are told as all.
const newsMax = 128

var allNews = news{all: true}

// add notes that a job became ready.
func (n *news) add(lane int64, priority int8, at job.Micros) {
	if n.all {
		return
	}
	if n.ready == nil {
		n.ready = make(map[readyPlace]job.Micros)
	}
	place := readyPlace{lane, priority}
	if before, ok := n.ready[place]; !ok || at < before {
		n.ready[place] = at
	}
	if len(n.ready) > newsMax {
		*n = allNews
	}
}

// merge adds what another piece says.
func (n *news) merge(o news) {
	if n.all || o.all {
		*n = allNews
		return
	}
	n.signals = n.signals || o.signals
	for place, at := range o.ready {
		n.add(place.lane, place.priority, at)
	}
}

func (n *news) empty() bool { return !n.all && !n.signals && len(n.ready) == 0 }

// text returns the form of a notification: who sends it, a bar, and "*" for all,
// or parts with commas between them: "s" for signals, "lane.priority@due".
func (n *news) text(sender string) string {
	b := []byte(sender + "|")
	if n.all {
		return string(append(b, '*'))
	}
	if n.signals {
		b = append(b, "s,"...)
	}
	places := make([]readyPlace, 0, len(n.ready))
	for place := range n.ready {
		places = append(places, place)
	}
	slices.SortFunc(places, func(a, b readyPlace) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), cmp.Compare(a.priority, b.priority))
	})
	for _, place := range places {
		b = strconv.AppendInt(b, place.lane, 10)
		b = append(b, '.')
		b = strconv.AppendInt(b, int64(place.priority), 10)
		b = append(b, '@')
		b = strconv.AppendInt(b, int64(n.ready[place]), 10)
		b = append(b, ',')
	}
	return strings.TrimSuffix(string(b), ",")
}

var errNews = errors.New("not a notification of redrive's")

// parseNews reads the text of a notification.
func parseNews(s string) (sender string, n news, err error) {
	sender, rest, ok := strings.Cut(s, "|")
	if !ok {
		return "", n, errNews
	}
	if rest == "*" {
		return sender, allNews, nil
	}
	for part := range strings.SplitSeq(rest, ",") {
		switch place, due, found := strings.Cut(part, "@"); {
		case part == "":
		case part == "s":
			n.signals = true
		case !found:
			return "", news{}, errNews
		default:
			lane, priority, _ := strings.Cut(place, ".")
			l, err1 := strconv.ParseInt(lane, 10, 64)
			p, err2 := strconv.ParseInt(priority, 10, 8)
			at, err3 := strconv.ParseInt(due, 10, 64)
			if errors.Join(err1, err2, err3) != nil {
				return "", news{}, errNews
			}
			n.add(l, int8(p), job.Micros(at))
		}
	}
	return sender, n, nil
}
