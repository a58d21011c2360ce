package access_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/redrive/redrive/server/access"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// The store keeps only a hash of the secret. The key itself is shown once.
func ExampleGate() {
	ctx := context.Background()
	keys := memory.New(memory.Options{})
	id, hash, key := access.NewKey()
	_, err := keys.PutKey(ctx, store.By{Actor: "root"}, store.AccessKey{ID: id, Hash: hash, Name: "shop", Roles: access.Submit.Names()})
	if err != nil {
		panic(err)
	}
	gate := access.New(keys, access.Options{Logger: slog.New(slog.DiscardHandler)})
	for _, text := range []string{key.Reveal(), "rdk_unknown"} {
		r := httptest.NewRequest(http.MethodGet, "/api/whoami", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+text)
		caller, err := gate.Identify(r)
		if err != nil {
			fmt.Println("refused:", err)
			continue
		}
		fmt.Println(caller.Actor, "may", caller.Roles)
	}
	// Output:
	// shop may submit
	// refused: no valid credentials
}
