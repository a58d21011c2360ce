package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
)

// answerMax is the maximum size of a response, in bytes.
const answerMax = 32 << 20

// vision is a client of the OCR API. It does not retry a request; its caller does.
type vision struct {
	url, key string
	client   *http.Client
}

// page is the text of a scanned page, as OCR returns it.
type page struct {
	Text  string `json:"text"`
	Words []box  `json:"words"`
}

// box is the position of a word on the picture, in pixels.
type box struct{ Left, Top, Right, Bottom int }

// read returns the text of a picture.
func (v *vision) read(ctx context.Context, picture []byte) (*page, error) {
	ask := map[string]any{"requests": []any{map[string]any{
		"image":    map[string]any{"content": picture}, // the picture, base64-encoded in JSON
		"features": []any{map[string]any{"type": "DOCUMENT_TEXT_DETECTION"}},
	}}}
	var answered struct {
		Responses []struct {
			TextAnnotations []struct {
				Description  string
				BoundingPoly struct{ Vertices []struct{ X, Y int } }
			}
			Error *struct {
				Code    int
				Message string
			}
		}
	}
	if err := post(ctx, v.client, v.url+"/v1/images:annotate", http.Header{"X-Goog-Api-Key": {v.key}}, ask, &answered); err != nil {
		return nil, err
	}
	if len(answered.Responses) != 1 {
		return nil, fmt.Errorf("vision: got %d responses, want 1", len(answered.Responses))
	}
	if e := answered.Responses[0].Error; e != nil { // the error of one picture; the HTTP status is still 200
		return nil, imageError(e.Code, e.Message)
	}
	p := &page{}
	for i, a := range answered.Responses[0].TextAnnotations {
		if i == 0 { // the first annotation is the whole text
			p.Text = a.Description
			continue
		}
		if corners := a.BoundingPoly.Vertices; len(corners) == 4 {
			p.Words = append(p.Words, box{corners[0].X, corners[0].Y, corners[2].X, corners[2].Y})
		}
	}
	return p, nil
}

// imageError returns the error of one picture with the class for its google.rpc code.
func imageError(code int, message string) error {
	err := fmt.Errorf("vision: %s (code %d)", message, code)
	switch code {
	case 4, 13, 14: // the codes DEADLINE_EXCEEDED, INTERNAL and UNAVAILABLE
		return failure.WithClass(failure.TemporaryServiceError, err)
	case 8: // the code RESOURCE_EXHAUSTED
		return failure.WithClass(failure.RateLimitExceeded, err)
	}
	return failure.WithClass(failure.InvalidInput, err)
}

// model is a client of the language-model API. It does not retry a request; its caller does.
type model struct {
	url    string
	client *http.Client
}

// findings are the values that the language model finds in a text.
type findings struct {
	Title string `json:"title"`
	Total string `json:"total,omitempty"`
}

// understand asks the language model for the values in a text.
func (m *model) understand(ctx context.Context, key, text string) (*findings, error) {
	ask := map[string]any{
		"model": "example-small", "response_format": map[string]any{"type": "json_object"},
		"messages": []any{
			map[string]any{"role": "system", "content": "Return the title and the total of the document as JSON."},
			map[string]any{"role": "user", "content": text},
		},
	}
	var answered struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	head := http.Header{"Authorization": {"Bearer " + key}}
	if err := post(ctx, m.client, m.url+"/v1/chat/completions", head, ask, &answered); err != nil {
		return nil, err
	}
	if len(answered.Choices) == 0 {
		return nil, errors.New("language model: the answer has no choices")
	}
	found := &findings{}
	if err := json.Unmarshal([]byte(answered.Choices[0].Message.Content), found); err != nil {
		return nil, fmt.Errorf("language model: the answer is not the JSON that the request asked for: %w", err)
	}
	return found, nil
}

// post sends a JSON request and decodes the JSON answer. The request carries the
// idempotency key of the call.
func post(ctx context.Context, client *http.Client, url string, head http.Header, ask, into any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header = head
	req.Header.Set("Content-Type", "application/json")
	if key := retry.From(ctx).Key; key != "" { // the idempotency key is the same in all attempts of a call
		req.Header.Set(httpretry.KeyHeader, key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	if resp.StatusCode != http.StatusOK {
		return refused(url, resp, answer)
	}
	if err != nil { // if the connection breaks in the body, the attempt has failed
		return fmt.Errorf("read answer: %w", err)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// refused returns the error of a status with the service's message. Both APIs send this message
// in the field "error".
func refused(url string, resp *http.Response, answer []byte) error {
	err := error(&httpretry.StatusError{
		Method: http.MethodPost, URL: url, StatusCode: resp.StatusCode, Header: resp.Header, Body: string(answer),
	})
	var answered struct{ Error struct{ Message string } }
	if json.Unmarshal(answer, &answered) == nil && answered.Error.Message != "" {
		err = fmt.Errorf("%w: %s", err, strings.TrimSuffix(answered.Error.Message, "."))
	}
	return err
}
