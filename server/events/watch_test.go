package events_test

import (
	"testing"

	"github.com/redrive/redrive/server/events"
)

// proves: U2
//
// All that watch the same topics get the same notice; what happened before a watch began makes none;
// after the last change one more notice follows, when the numbers that are kept for a second are new.
func TestU2_WatchersGetTheSameNotices(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"all", "kind:render", "job:3"} {
		t.Run(topic, func(t *testing.T) {
			t.Parallel()
			h, c := newHub(t)
			enqueue(t, c, 2)
			parsed, err := events.ParseTopic(topic)
			if err != nil {
				t.Fatal(err)
			}
			watches := events.NewWatches(h)
			var list []*events.Watch
			for range 2 {
				w, err := watches.Watch(t.Context(), []events.Topic{parsed})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(w.Close)
				list = append(list, w)
			}
			before, next, err := list[0].Last()
			if err != nil || before.Settled {
				t.Fatalf("got %+v and %v before anything has changed", before, err)
			}
			enqueue(t, c, 5)
			<-next
			changed, next, err := list[0].Last()
			if err != nil || changed.Settled || !before.Cursor.Before(changed.Cursor) {
				t.Fatalf("got %+v and %v after a change, want a later cursor than %s", changed, err, before.Cursor)
			}
			<-next
			settled, _, err := list[0].Last()
			other, _, otherErr := list[1].Last()
			if err != nil || otherErr != nil || !settled.Settled && topic == "job:3" || other != settled {
				t.Errorf("got %+v and %+v, errors %v and %v: want both settled", settled, other, err, otherErr)
			}
		})
	}
}
