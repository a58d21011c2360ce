package world

import (
	"encoding/json"
	"fmt"
	"image"
	"net/http"
	"strconv"
	"strings"
)

// The keys that the APIs accept.
const (
	VisionKey = "vision-key-of-the-example"
	ModelKey  = "model-key-of-the-example"
)

// bodyMax is the maximum size of a request, in bytes.
const bodyMax = 20 << 20

// APIs returns the OCR API (POST /v1/images:annotate) and the language-model API
// (POST /v1/chat/completions) in one handler.
func APIs(p *Plan) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/images:annotate", p.annotate)
	mux.HandleFunc("POST /v1/chat/completions", p.complete)
	return mux
}

type vertex struct {
	X int `json:"x"`
	Y int `json:"y"`
}

type annotation struct {
	Description  string `json:"description"`
	BoundingPoly struct {
		Vertices []vertex `json:"vertices"`
	} `json:"boundingPoly"`
}

func newAnnotation(text string, box image.Rectangle) (a annotation) {
	a.Description = text
	a.BoundingPoly.Vertices = []vertex{
		{box.Min.X, box.Min.Y}, {box.Max.X, box.Min.Y}, {box.Max.X, box.Max.Y}, {box.Min.X, box.Max.Y},
	}
	return a
}

func (p *Plan) annotate(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Requests []struct {
			Image struct {
				Content []byte `json:"content"`
			} `json:"image"`
		} `json:"requests"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyMax)).Decode(&ask); err != nil || len(ask.Requests) != 1 {
		answer(w, http.StatusBadRequest, visionError(http.StatusBadRequest, "INVALID_ARGUMENT", "Expected one request."))
		return
	}
	text, words, err := recognise(ask.Requests[0].Image.Content)
	call := Called{Where: Vision, Subject: text, Key: r.Header.Get("Idempotency-Key")}
	if r.Header.Get("X-Goog-Api-Key") != VisionKey {
		call.Status = http.StatusUnauthorized
	}
	met := p.meet(call)
	switch {
	case met.Status == http.StatusUnauthorized:
		answer(w, met.Status, visionError(met.Status, "UNAUTHENTICATED", "API key not valid. Please pass a valid API key."))
	case met.Status != http.StatusOK:
		trouble(w, met, visionError(met.Status, visionStatus[met.Status], "The service does not take the request."))
	case err != nil: // the error of one picture is a part of the answer, whose status is 200
		answer(w, http.StatusOK, map[string]any{"responses": []any{
			map[string]any{"error": map[string]any{"code": 3, "message": err.Error()}},
		}})
	default:
		var whole image.Rectangle
		all := []annotation{{}}
		for _, word := range words {
			whole = whole.Union(word.box)
			all = append(all, newAnnotation(word.text, word.box))
		}
		all[0] = newAnnotation(text, whole)
		answer(w, http.StatusOK, map[string]any{"responses": []any{map[string]any{"textAnnotations": all}}})
	}
}

// visionStatus maps HTTP statuses to the status names of the OCR API.
var visionStatus = map[int]string{
	403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func visionError(status int, name, message string) any {
	return map[string]any{"error": map[string]any{"code": status, "message": message, "status": name}}
}

func (p *Plan) complete(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyMax)).Decode(&ask); err != nil || len(ask.Messages) == 0 {
		answer(w, http.StatusBadRequest, modelError("invalid_request_error", "", "Expected messages."))
		return
	}
	text := ask.Messages[len(ask.Messages)-1].Content
	call := Called{Where: Model, Subject: text, Key: r.Header.Get("Idempotency-Key")}
	if r.Header.Get("Authorization") != "Bearer "+ModelKey {
		call.Status = http.StatusUnauthorized
	}
	met := p.meet(call)
	switch met.Status {
	case http.StatusOK:
		content, _ := json.Marshal(understand(text)) //nolint:errchkjson // strings and numbers
		answer(w, http.StatusOK, map[string]any{
			"id": "chatcmpl-example", "object": "chat.completion", "model": ask.Model,
			"choices": []any{map[string]any{
				"index": 0, "finish_reason": "stop",
				"message": map[string]any{"role": "assistant", "content": string(content)},
			}},
		})
	case http.StatusUnauthorized:
		answer(w, met.Status, modelError("invalid_request_error", "invalid_api_key", "Incorrect API key provided."))
	default:
		trouble(w, met, modelError(modelType(met.Status), "", "The service does not take the request."))
	}
}

func modelType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_exceeded"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

func modelError(kind, code, message string) any {
	return map[string]any{"error": map[string]any{"type": kind, "code": code, "message": message}}
}

// understand simulates the language model of the example.
func understand(text string) map[string]any {
	title, _, _ := strings.Cut(text, "\n")
	found := map[string]any{"title": title}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "TOTAL: "); ok {
			found["total"] = value
		}
	}
	return found
}

// trouble answers a request with the planned fault.
func trouble(w http.ResponseWriter, t Trouble, body any) {
	if t.Status == Cut {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"responses": [`)
		http.NewResponseController(w).Flush() //nolint:errcheck // the connection breaks off anyway
		panic(http.ErrAbortHandler)           // this panic closes the connection in the middle of the body
	}
	if t.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(t.After))
	}
	answer(w, t.Status, body)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client is gone
}
