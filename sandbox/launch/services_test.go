package launch

import (
	"context"
	"errors"
	"strings"
	"testing"

	"git-ward/internal/await"
)

// A service ends after what it serves, and what it serves ends when it breaks.
func TestWhileServing(t *testing.T) {
	var order []string
	serve := func(ctx context.Context) error { <-ctx.Done(); order = append(order, "service"); return nil }
	ctx, cancel := context.WithCancel(t.Context())
	err := whileServing(ctx, list(service{"it", serve}), func(ctx context.Context) error {
		cancel() // asked to end, and still served
		<-ctx.Done()
		order = append(order, "payload")
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || len(order) != 2 || order[0] != "payload" {
		t.Errorf("%v, in the order %v", err, order)
	}
	broken := errors.New("broken")
	err = whileServing(t.Context(), list(service{"it", func(context.Context) error { return broken }}), func(ctx context.Context) error {
		await.Value(t, "word to the payload", ctx.Done())
		return nil
	})
	if !errors.Is(err, broken) || err.Error() != "it: broken" {
		t.Error(err)
	}

	// Each is opened while those before it serve, and they end in the other order.
	order = nil
	said := func(name string) service {
		order = append(order, name)
		return service{name, func(ctx context.Context) error { <-ctx.Done(); order = append(order, name); return nil }}
	}
	err = whileServing(t.Context(), []opener{
		func() (service, error) { return said("one"), nil },
		func() (service, error) { return said("two"), nil },
		func() (service, error) { return service{}, broken },
	}, func(context.Context) error { t.Error("runs without a service"); return nil })
	if !errors.Is(err, broken) || strings.Join(order, " ") != "one two two one" {
		t.Errorf("%v, in the order %v", err, order)
	}
}

func list(s service) []opener { return []opener{func() (service, error) { return s, nil }} }
