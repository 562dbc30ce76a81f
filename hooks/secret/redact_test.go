package secret

import (
	"strings"
	"testing"
)

func TestRedactor(t *testing.T) {
	redact := Redactor()
	token := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	for range 2 {
		got := redact("push with " + token + " and " + token + ", then go")
		if strings.Contains(got, token) || !strings.HasPrefix(got, "push with [github-pat]") || !strings.HasSuffix(got, ", then go") {
			t.Error(got)
		}
	}
	if got := redact("plain text"); got != "plain text" {
		t.Error(got)
	}
}

// TestHalfAKey: a key of which a cut left only the begin, only the end, or both with another key,
// shows none of its base64; what is before and behind it stays, and so does a mere placeholder.
func TestHalfAKey(t *testing.T) {
	begin, end := "-----BEGIN RSA PRIVATE "+"KEY-----", "-----END RSA PRIVATE "+"KEY-----"
	head := "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\n"
	body := strings.Repeat(strings.Repeat("Zm9v", 16)+"\n", 5) + "Zm9vZg==\n"
	pgp := strings.NewReplacer(" RSA", "", "KEY-", "KEY BLOCK-")
	redact := Redactor()
	for name, c := range map[string]struct{ text, want string }{
		"begin":        {"see\n" + begin + "\n" + head + body, "see\n[private-key]"},
		"begin alone":  {"see " + begin, "see [private-key]"},
		"end":          {body + end + "\nmore", "[private-key]\nmore"},
		"end in a log": {"it said:\n" + body + end + " and more", "it said:\n[private-key] and more"},
		"half a line":  {"v" + body[60:] + end, "[private-key]"},
		"last line":    {"Zg==\n" + end, "[private-key]"},
		"end alone":    {end + "\nmore", "[private-key]\nmore"},
		"pgp":          {body + "=Zm9v\n" + pgp.Replace(end), "[private-key]"},
		"pgp begin":    {pgp.Replace(begin) + "\nVersion: x y\n\n" + body, "[private-key]"},
		"in one line":  {strings.ReplaceAll("exit 1 "+body+end, "\n", "; "), "exit 1 [private-key]"},
		"slashes":      {strings.ReplaceAll("exit 1: "+body+end, "\n", " / "), "exit 1: [private-key]"},
		"escaped":      {strings.ReplaceAll("exit 1: "+body+end, "\n", "\\r\\n"), "exit 1: [private-key]"},
		"CRLF":         {strings.ReplaceAll(body+end, "\n", "\r\n"), "[private-key]"},
		"quoted":       {strings.ReplaceAll(body+end, "\n", "\\n\" +\n\t\""), "[private-key]"},
		"end, begin":   {body + end + "\nand " + begin + "\n" + body, "[private-key]\nand [private-key]"},
		"two begins":   {begin + "\n" + body + "cut " + begin + "\n" + body + end + "\nmore", "[private-key]\nmore"},
		"whole":        {"a\n" + begin + "\n" + body + end + "\nb", "a\n[private-key]\nb"},
		"too long":     {begin + strings.Repeat("\nZm9v", maxReach) + "\n= the end", "[private-key]"},
		"placeholder":  {begin + "\n...\n" + end + "\n", begin + "\n...\n" + end + "\n"},
		"a public one": {strings.ReplaceAll(body+end, "PRIVATE", "PUBLIC"), strings.ReplaceAll(body+end, "PRIVATE", "PUBLIC")},
	} {
		got := redact(c.text)
		if name == "too long" { // it goes on behind what is taken for a key
			got = got[:len(c.want)]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if also := c.text; name != "too long" && !strings.Contains(got, "Zm9v") {
			other := c.text + " again"
			if Redact(&also, &other); strings.Contains(also+other, "Zm9v") {
				t.Errorf("%s, of two: %q, %q", name, also, other)
			}
		}
	}
}

// TestOverlap: what two rules know in part of each other goes as one.
func TestOverlap(t *testing.T) {
	begin := "-----BEGIN PRIVATE " + "KEY-----\n"
	token := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	if got := Redactor()("a " + token + " b " + begin + token + "\nand " + token); got != "a [github-pat] b [private-key]" {
		t.Error(got)
	}
}
