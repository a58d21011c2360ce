package openairetry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/redrive/redrive/retry"
	openairetry "github.com/redrive/redrive/retry/sdk/openai"
)

// The service always answers 503. Only retry.Do retries.
func ExampleOptions() {
	calls := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer api.Close()
	strategy, err := retry.New("openai", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	options := append([]option.RequestOption{option.WithBaseURL(api.URL), option.WithAPIKey("key")}, openairetry.Options()...)
	client := openai.NewClient(options...)
	_, err = retry.Do(context.Background(), strategy, func(ctx context.Context) (*openai.ChatCompletion, error) {
		return client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
			Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
		})
	})
	fmt.Println(err != nil, calls, "calls") // with the client's own retries it would be 9 calls
	// Output: true 3 calls
}
