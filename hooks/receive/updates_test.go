package receive

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"git-ward/hooks/audit"
	"git-ward/internal/git"
)

var some = strings.Repeat("1", 40)

func TestReadUpdates(t *testing.T) {
	for input, want := range map[string]string{
		git.Zero + " " + some + " refs/heads/a\n":                                 "refs/heads/a",
		git.Zero + " " + some + " refs/heads/a":                                   "refs/heads/a", // no last newline
		git.Zero + " " + some + " refs/heads/a b\n":                               "refs/heads/a b",
		git.Zero + " " + some + " refs/a\n" + some + " " + git.Zero + " refs/b\n": "refs/a refs/b",
		"":                                    "error: no ref update",
		"\n":                                  "error: is not a ref update",
		some + " " + some + "\n":              "error: is not a ref update",
		some + " " + some + " \n":             "error: is not a ref update",
		strings.Repeat("x", maxLine+1) + "\n": "error: standard input: bufio: buffer full",
	} {
		updates, kept, omitted, err := readUpdates(strings.NewReader(input))
		var refs []string
		for _, u := range updates {
			refs = append(refs, u.Ref)
		}
		got := strings.Join(refs, " ")
		if message, refused := strings.CutPrefix(want, "error: "); refused {
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%.80q: %v, want %q", input, err, message)
			}
			continue
		}
		if err != nil || got != want || string(kept) != input || omitted != nil {
			t.Errorf("%.80q: %q, %v, want %q", input, got, err, want)
		}
	}
}

// TestUpdatesBeyondTheBounds: what the audit cannot hold is counted, and hashed so that
// two pushes differ.
func TestUpdatesBeyondTheBounds(t *testing.T) {
	lines := func(n int, name string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s %s refs/heads/%s%d\n", git.Zero, some, name, i)
		}
		return b.String()
	}
	updates, input, omitted, err := readUpdates(strings.NewReader(lines(audit.MaxRefs+3, "a")))
	if err != nil || len(updates) != audit.MaxRefs || omitted == nil || omitted.Refs != 3 || len(omitted.SHA256) != 64 {
		t.Fatalf("%d updates, %+v, %v", len(updates), omitted, err)
	}
	if strings.Count(string(input), "\n") != audit.MaxRefs {
		t.Error("a chained hook gets other updates than are judged")
	}
	if _, _, other, _ := readUpdates(strings.NewReader(lines(audit.MaxRefs, "a") + lines(3, "b"))); other.SHA256 == omitted.SHA256 {
		t.Error("other refs have the same hash")
	}
	long := lines(100, strings.Repeat("\x01", 60_000))
	if updates, _, omitted, err := readUpdates(strings.NewReader(long)); err != nil || omitted == nil || len(updates)+omitted.Refs != 100 {
		t.Errorf("%d updates, %+v, %v", len(updates), omitted, err)
	}
}

func TestPushOptions(t *testing.T) {
	all := make([]string, maxOptions+1)
	for i := range all {
		all[i] = "o" + strconv.Itoa(i)
	}
	for count, want := range map[string]struct {
		options []string
		err     string
	}{
		"":                           {nil, ""},
		"0":                          {nil, ""},
		"2":                          {all[:2], ""},
		strconv.Itoa(maxOptions):     {all[:maxOptions], ""},
		strconv.Itoa(maxOptions + 1): {all[:maxOptions], errTooManyOptions.Error()},
		"-1":                         {nil, "GIT_PUSH_OPTION_COUNT"},
		"two":                        {nil, "GIT_PUSH_OPTION_COUNT"},
		"99999999999999999999":       {nil, "GIT_PUSH_OPTION_COUNT"},
	} {
		options, err := pushOptions(func(name string) string {
			if name == "GIT_PUSH_OPTION_COUNT" {
				return count
			}
			i, _ := strconv.Atoi(strings.TrimPrefix(name, "GIT_PUSH_OPTION_"))
			return all[i]
		})
		if !slices.Equal(options, want.options) || want.err == "" && err != nil || want.err != "" && (err == nil || !strings.Contains(err.Error(), want.err)) {
			t.Errorf("%q: %d options, %v", count, len(options), err)
		}
		if errors.Is(err, errTooManyOptions) != (want.err == errTooManyOptions.Error()) {
			t.Errorf("%q: %v", count, err)
		}
	}
}

func TestNamed(t *testing.T) {
	for path, want := range map[string]bool{
		"/r.git/hooks/pre-receive": true, "/r.git/hooks/post-receive": true,
		"/r.git/hooks/pre-receive.d/ward": true, "/r.git/hooks/post-receive.d/ward": true,
		"/usr/bin/ward-hook": false, "/r.git/hooks/update": false, "/pre-receive/x": true, "/r.git/hooks/pre-receive.d/x/ward": false,
	} {
		if _, err := Named(path, nil); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Named("/usr/bin/ward-hook", []string{"pre-receive"}); err != nil {
		t.Error(err)
	}
	if _, err := Named("/usr/bin/ward-hook", []string{"pre-receive", "x"}); err == nil {
		t.Error("two arguments name a hook")
	}
}
