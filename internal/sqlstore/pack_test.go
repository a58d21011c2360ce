package sqlstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/redrive/redrive/job"
)

// recordSamples are examples of the records that decisions write.
var recordSamples = []string{
	`{"v":2,"action":"retry","rule":"schedule","class":"TemporaryServiceError","verdict":"retry","n":1,"of":3,"wait_us":24040000,"by":"cloud.retriable","rank":"pattern","saw":"Service Unavailable","code":"http.503","beat":[{"rule":"service.unavailable","class":"TemporaryServiceError","rank":"pattern","saw":"upstream connect error"},{"rule":"transport.connect","class":"NetworkTimeout","rank":"pattern","saw":"connect error"},{"rule":"http.503","class":"TemporaryServiceError","rank":"text","saw":"503 Service"}],"drawn_us":24040000,"nominal_us":30000000,"ceiling_us":36000000,"u":0.0033333333333333335,"growth":"30s × 2^(n−1)","spreading":"±20 %","backoff_from":"class","retries_from":"class","class_failures":1,"failures":2,"max_attempts":100,"max_age_us":7776000000000,"policy":"default","hash":"5e89b241fc8fdd56b40dd5efd9b498999305db9b4613e82486d6214480d5ccd7"}`,
	`{"v":2,"action":"dead","rule":"schedule.exhausted","class":"TemporaryServiceError","verdict":"retry","dead":"max_retries_exceeded","of":3,"by":"cloud.retriable","rank":"pattern","saw":"Service Unavailable","code":"http.503","beat":[{"rule":"business.state","class":"BusinessLogicError","rank":"pattern","saw":"unexpected status"}],"count":"total","retries_from":"schedule","class_failures":4,"failures":4,"max_attempts":100,"age_us":20232,"max_age_us":7776000000000,"policy":"default","hash":"5e89b241fc8fdd56b40dd5efd9b498999305db9b4613e82486d6214480d5ccd7"}`,
	`{"v":2,"action":"retry","rule":"schedule","class":"UnknownError","verdict":"unknown","n":1,"of":3,"by":"unknown","u":0.810478958449576,"growth":"0s, …","count":"total","retries_from":"schedule","backoff_from":"schedule","class_failures":1,"failures":1,"max_attempts":100,"age_us":10926,"max_age_us":7776000000000,"policy":"team \"A\"","hash":"e05e6486a60f909446dccf4bc51338ecc9bb6f6017eaa7e2ece0b9953adbbc03"}`,
}

func TestPackedRecordsAreShort(t *testing.T) {
	t.Parallel()
	for _, s := range recordSamples {
		if n := len(packRecord(nil, []byte(s))); 3*n > len(s) {
			t.Errorf("the record of %d bytes was packed into %d bytes, want at most a third; record: %s", len(s), n, s)
		}
	}
}

// Stored records refer to the bytes of the dictionary by their positions, so the
// dictionary must not change.
func TestTheDictionaryStaysAsItIs(t *testing.T) {
	t.Parallel()
	const want = "737bbeead918a9bee0f603ebae8d74408ffaae2f87a58f6c1bfd3b4ec215c7a2"
	sum := sha256.Sum256([]byte(records.text))
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("the dictionary of version %d was changed: its SHA-256 is %s, want %s", packVersion, got, want)
	}
	if len(records.text) >= 1<<16 {
		t.Errorf("the dictionary has %d bytes, want at most 65535, so that a position fits into two bytes", len(records.text))
	}
	packed := packRecord(nil, []byte(`{"v":2,"action":"retry","hash":"00112233445566"}`))
	if want := "\x01\x95\x00\x00"; !strings.HasPrefix(string(packed), want) {
		t.Errorf("got packed record %q, want a packed record that begins with %q", packed, want)
	}
}

func TestUnpackedRecords(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "{", `{"v":2}`} {
		if got, err := unpackRecord([]byte(raw)); err != nil || string(got) != raw {
			t.Errorf("unpack %q: got %q, error %v; want the same bytes", raw, got, err)
		}
	}
	if got, err := unpackRecord(nil); err != nil || got != nil {
		t.Errorf("unpack nil: got %q, error %v; want nil and no error", got, err)
	}
	far := string([]byte{packVersion, sameBit, byte(len(records.text) - sameMin + 1), byte((len(records.text) - sameMin + 1) >> 8)})
	long := "\x01" + strings.Repeat("\xff\x00\x00", job.EvidenceMax/sameMax+1)
	for _, damaged := range []string{"\x02", "\x00", "[1]", "\x01\x00", "\x01\x05abc", "\x01\x40abc", "\x01\x80", "\x01\x80\x01", far, long} {
		if got, err := unpackRecord([]byte(damaged)); err == nil {
			t.Errorf("unpack of the damaged record %.40q: got %.40q and no error, want an error", damaged, got)
		}
	}
}

func FuzzPackRecord(f *testing.F) {
	for _, s := range recordSamples {
		f.Add([]byte(s))
	}
	f.Add([]byte("\x01\x00ffffffffffffffffffff{{\"\"0123456789abcdef0123456789abcdeg"))
	f.Add([]byte(strings.Repeat("0123456789abcdef", 40)))
	f.Add([]byte(records.text[1:]))
	f.Fuzz(func(t *testing.T, record []byte) {
		record = record[:min(len(record), job.EvidenceMax)]
		packed := packRecord([]byte("before"), record)
		packed, ok := bytes.CutPrefix(packed, []byte("before"))
		if !ok || len(packed) > len(record)+len(record)/asIsMax+2 {
			t.Errorf("a record of %d bytes was packed into %d bytes, want about the same or fewer", len(record), len(packed))
		}
		if got, err := unpackRecord(packed); err != nil || !bytes.Equal(got, record) {
			t.Errorf("record %q: pack and unpack returned %q, error %v; want the same record", record, got, err)
		}
	})
}

func FuzzUnpackRecord(f *testing.F) {
	for _, s := range recordSamples {
		f.Add(packRecord(nil, []byte(s)))
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		record, err := unpackRecord(packed)
		if len(record) > max(job.EvidenceMax, len(packed)) || err != nil && record != nil {
			t.Errorf("unpack returned %d bytes and error %v; want at most job.EvidenceMax bytes, and no bytes if there is an error", len(record), err)
		}
	})
}

func BenchmarkPackRecord(b *testing.B) {
	var packed []byte
	for i := 0; b.Loop(); i++ {
		packed = packRecord(packed[:0], []byte(recordSamples[i%len(recordSamples)]))
	}
}
