package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Names of the headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// Sign returns the signature of a body by one secret, as the header webhook-signature has it: "v1,"
// and base64. The id must have no dot.
func Sign(s Secret, id string, at time.Time, body []byte) string {
	h := hmac.New(sha256.New, s)
	h.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	h.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// signatures returns the header with the signatures of all secrets that are valid, the new one first.
func (e *Endpoint) signatures(id string, at time.Time, body []byte) string {
	all := Sign(e.Secret, id, at, body)
	if len(e.OldSecret) > 0 && at.Before(e.OldUntil) {
		all += " " + Sign(e.OldSecret, id, at, body)
	}
	return all
}

const idMax = 128 // maximum length of an id, in bytes

func validID(id string) error {
	if id == "" || len(id) > idMax || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return fmt.Errorf("the id %.80q must be 1 to %d letters, digits, '_' and '-'", id, idMax)
	}
	return nil
}
