package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
)

// versionOf returns the weak entity tag of an object: it changes with every field of it.
func versionOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("encode an object: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:9]) + `"`
}

// unchanged sets the entity tag of the answer. If the client has this version already, it answers
// with 304 and returns true.
func (c *Call) unchanged(tag string) bool {
	c.W.Header().Set("Etag", tag)
	if c.R.Method != http.MethodGet || !hasTag(c.R.Header.Get("If-None-Match"), tag) {
		return false
	}
	c.W.WriteHeader(http.StatusNotModified)
	return true
}

// matches reports whether the object has the version that the header If-Match names. It returns
// true if there is no such header.
func (c *Call) matches(tag string) bool {
	match := c.R.Header.Get("If-Match")
	return match == "" || hasTag(match, tag)
}
