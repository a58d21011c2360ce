package anthropicretry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/redrive/redrive/retry"
	anthropicretry "github.com/redrive/redrive/retry/sdk/anthropic"
)

// The service always answers 503. Only retry.Do retries.
func ExampleOptions() {
	calls := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer api.Close()
	strategy, err := retry.New("anthropic", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	options := append([]option.RequestOption{option.WithBaseURL(api.URL), option.WithAPIKey("key")}, anthropicretry.Options()...)
	client := anthropic.NewClient(options...)
	_, err = retry.Do(context.Background(), strategy, func(ctx context.Context) (*anthropic.Message, error) {
		return client.Messages.New(ctx, anthropic.MessageNewParams{
			Model: "any", MaxTokens: 1, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
		})
	})
	fmt.Println(err != nil, calls, "calls") // with the client's own retries it would be 9 calls
	// Output: true 3 calls
}
