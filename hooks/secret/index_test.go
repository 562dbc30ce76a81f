package secret

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestIndex compares with a search word by word.
func TestIndex(t *testing.T) {
	type hit struct{ at, word int }
	words := []word{{"key", true}, {"ey", false}, {"KEY", false}, {"keyring", true}, {"s.", false}, {"--x", true}}
	x, rnd := newIndex(words), newRand(1)
	for range 2000 {
		data := make([]byte, rnd.IntN(20))
		for i := range data {
			data[i] = "keyKEYring-xs.\x00\xff"[rnd.IntN(16)]
		}
		var got, want []hit
		for at, w := range x.hits(data) {
			got = append(got, hit{at, w})
		}
		slices.SortStableFunc(got, func(a, b hit) int { return (a.at-b.at)*100 + a.word - b.word })
		for at := range data {
			for w, word := range words {
				text := data[at:]
				if word.fold {
					text = bytes.ToLower(text)
				}
				if bytes.HasPrefix(text, []byte(word.text)) {
					want = append(want, hit{at, w})
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: got %v, want %v", data, got, want)
		}
		if x.found(data) != (want != nil) {
			t.Fatalf("%q: found is wrong", data)
		}
	}
}

// TestIndexFits: an index has room for the words of the table.
func TestIndexFits(t *testing.T) {
	lists := map[string][]string{}
	add := func(name string, as []allowlist) {
		for _, a := range as {
			lists[name] = append(lists[name], strings.Fields(a.stopwords)...)
		}
	}
	add("global", globalAllow)
	for _, r := range rules {
		add(r.id, r.allow)
		for _, a := range r.anchors {
			lists["anchors"] = append(lists["anchors"], a.text)
		}
	}
	for name, list := range lists {
		bytes := map[byte]bool{}
		for _, w := range list {
			if len(w) < 2 {
				t.Errorf("%s: %q is too short", name, w)
			}
			for i := range len(w) {
				bytes[lower(w[i])] = true
			}
		}
		if len(bytes) >= maxClasses || len(list) > 1<<16-2 {
			t.Errorf("%s: %d words of %d bytes", name, len(list), len(bytes))
		}
	}
}
