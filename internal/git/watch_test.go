package git

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestWatch: a ref that moves ends a wait however git keeps it, once; another ref does not;
// and something else, the time and the context end it, too.
func TestWatch(t *testing.T) {
	r := bare(t)
	var ids []string
	for _, text := range []string{"a", "b"} {
		id, err := r.WriteObject("blob", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	run := func(args ...string) func() {
		return func() {
			if _, err := r.Output(t.Context(), args...); err != nil {
				t.Fatal(err)
			}
		}
	}
	watch := r.Watch("refs/ward/one", "refs/ward/many/")
	for _, c := range []struct {
		what string
		move func()
		want bool
	}{
		{"nothing", func() {}, false},
		{"another ref", run("update-ref", "refs/ward/other", ids[0]), false},
		{"it is made", run("update-ref", "refs/ward/one", ids[0]), true},
		{"it moves", run("update-ref", "refs/ward/one", ids[1]), true},
		{"it is packed", run("pack-refs", "--all"), true},
		{"one of many", run("update-ref", "refs/ward/many/x", ids[0]), true},
		{"it goes", run("update-ref", "-d", "refs/ward/one"), true},
	} {
		looks := 0
		moved, err := watch.Wait(t.Context(), time.Millisecond, time.Time{}, func() bool {
			if looks++; looks == 1 { // in the middle of the wait
				c.move()
			}
			return looks == 3
		})
		if moved != c.want || err != nil || watch.Moved() {
			t.Errorf("%s: %v %v after %d looks", c.what, moved, err, looks)
		}
	}
	if moved, err := watch.Wait(t.Context(), time.Hour, time.Now(), nil); moved || err != nil {
		t.Errorf("the time: %v %v", moved, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := watch.Wait(ctx, time.Hour, time.Time{}, nil); !errors.Is(err, enough) {
		t.Errorf("the end of the context: %v", err)
	}
}
