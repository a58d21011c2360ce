package wire

import (
	"encoding/binary"
	"strconv"
)

// connect adds the headers that Kafka Connect writes to its dead-letter queue: texts.
func (o *Out) connect(r *Record) {
	const family = "__connect.errors."
	from := &o.Origin
	r.Headers = append(r.Headers, text(family+"topic", from.Topic), text(family+"partition", strconv.Itoa(int(from.Partition))),
		text(family+"offset", strconv.FormatInt(from.Offset, 10)), text(family+"connector.name", o.Stream), text(family+"task.id", "0"),
		text(family+"stage", "TASK_PUT"), text(family+"class.name", "redrive"))
	if f := o.Failure; f != nil {
		r.Headers = append(r.Headers, text(family+"exception.class.name", f.Class), text(family+"exception.message", cut(f.Message, errorMax)))
	}
}

// spring adds the headers that Spring Kafka's DeadLetterPublishingRecoverer writes. Its numbers are
// binary, in big-endian order.
func (o *Out) spring(r *Record) {
	const family = "kafka_dlt-"
	from := &o.Origin
	r.Headers = append(r.Headers, text(family+"original-topic", from.Topic),
		Header{family + "original-partition", binary.BigEndian.AppendUint32(nil, uint32(from.Partition))}, //nolint:gosec // the bits of the number
		Header{family + "original-offset", binary.BigEndian.AppendUint64(nil, uint64(from.Offset))},       //nolint:gosec // the bits of the number
		text(family+"original-consumer-group", o.Group))
	if from.Time != nil {
		r.Headers = append(r.Headers, Header{family + "original-timestamp", binary.BigEndian.AppendUint64(nil, uint64(from.Time.UnixMilli()))}, //nolint:gosec // the bits of the number
			text(family+"original-timestamp-type", "CreateTime"))
	}
	if f := o.Failure; f != nil {
		r.Headers = append(r.Headers, text(family+"exception-fqcn", f.Class), text(family+"exception-message", cut(f.Message, errorMax)))
	}
}
