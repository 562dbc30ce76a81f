package uow

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// plainSum is the hash of a record, made as its definition says it.
func plainSum(t *rapid.T, r *Record) string {
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "hash")
	if data, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	value := jsontext.Value(data)
	if err := value.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}

// The hash is that of the definition, whatever the record has, and does not depend on what it was.
func TestSeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", `"hash":"x"`, `,"hash":"x",`, `\"hash\":`, "}", "\u2028\x00"}))
		r := &Record{ID: text.Draw(t, "id"), Hash: text.Draw(t, "hash"), PrevHash: text.Draw(t, "prev"), Note: text.Draw(t, "note"), Interactions: rapid.Int64Range(-1<<50, 1<<50).Draw(t, "n")}
		if rapid.Bool().Draw(t, "claim") {
			r.Claim = &Claim{Commit: text.Draw(t, "commit"), Record: text.Draw(t, "record")}
		}
		if err := r.Seal(); err != nil {
			if _, plain := json.Marshal(r); plain == nil {
				t.Fatal(err)
			}
			return
		}
		if want := plainSum(t, r); r.Hash != want {
			t.Fatalf("%s, want %s", r.Hash, want)
		}
	})
}

// Only the member of the object itself goes, wherever it stands.
func TestWithoutHash(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                                `{}`,
		`{"hash":"x"}`:                      `{}`,
		`{"hash":"x","z":1}`:                `{"z":1}`,
		`{"a":1,"hash":"x"}`:                `{"a":1}`,
		`{"a":1,"hash":{"hash":1},"z":[2]}`: `{"a":1,"z":[2]}`,
		`{"a":{"hash":"y"},"b":"hash"}`:     `{"a":{"hash":"y"},"b":"hash"}`,
		`{"a":"\"hash\":1,","hash":2}`:      `{"a":"\"hash\":1,"}`,
	} {
		if got, err := withoutHash([]byte(in)); string(got) != want || err != nil {
			t.Errorf("%s: %s %v", in, got, err)
		}
	}
	if got, err := withoutHash([]byte(`{"a`)); err == nil {
		t.Errorf("of no object: %s", got)
	}
}
