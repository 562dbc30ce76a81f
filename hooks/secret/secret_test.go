package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// published reports whether a text holds the same secret.
func published(f Finding, text []byte) bool { return len(Fresh([]Finding{f}, text)) == 0 }

// only scans data and wants exactly one finding.
func only(t *testing.T, path, data string) Finding {
	t.Helper()
	found, err := New(1<<20).Scan(path, []byte(data))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v, want one finding", found, err)
	}
	return found[0]
}

func TestPosition(t *testing.T) {
	token, _ := secretFor(t, "github-pat", newRand(1))
	f := only(t, "a.txt", "é\nab "+token+"\n")
	want := fmt.Sprintf("github-pat at 2:4 %d-%d", len("é\nab "), len("é\nab ")+len(token))
	if got := fmt.Sprintf("%v %d-%d", f, f.Start, f.End); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNothingExcuses(t *testing.T) {
	token, _ := secretFor(t, "github-pat", newRand(1))
	allow := "gitleaks" + ":allow"
	for _, path := range []string{
		"go.sum", "package-lock.json", "logo.png", "vendor/github.com/x/y.go", "node_modules/x.js",
		".gitleaks.toml", "gitleaks.toml", ".gitleaksignore", "README.md", "x.bin", "",
	} {
		only(t, path, "x := \""+token+"\" // "+allow+"\n")
	}
	for _, text := range []string{
		"\x00\x01\x02" + token + "\x00", // binary
		"\xff\xfe\xff" + token,          // not UTF-8
		token,                           // all of the file
		strings.Repeat(" ", 1<<20) + token + strings.Repeat(" ", 1<<20),
	} {
		only(t, "x", text)
	}
}

func TestGoSum(t *testing.T) {
	_, hash := secretFor(t, "generic-api-key", newRand(1))
	hash = (hash + strings.Repeat("x0Y9", 11))[:43] + "="
	hash = strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-.=", r) {
			return 'a'
		}
		return r
	}, hash[:43]) + "="
	line := "example.com/auth/token v1.2.3 h1:" + hash
	if found, err := New(1<<20).Scan("go.sum", []byte(line+"\n"+line+"\n")); err != nil || found != nil {
		t.Errorf("got %v, %v for lines of go.sum", found, err)
	}
	only(t, "go.sum", line+" \n")
}

func TestFileByName(t *testing.T) {
	f := only(t, "certs/server.P12", "\x30\x82")
	if f.Rule != "pkcs12-file" || f.Line != 0 || f.Start != 0 || f.End != 2 {
		t.Errorf("got %+v", f)
	}
}

// TestSpecificCovers: a secret of known form is not reported a second time for
// the name that it is given.
func TestSpecificCovers(t *testing.T) {
	token, _ := secretFor(t, "github-pat", newRand(1))
	if f := only(t, "a.py", "token = \""+token+"\"\n"); f.Rule != "github-pat" {
		t.Errorf("got %v", f)
	}
}

func TestFindingHoldsNoSecret(t *testing.T) {
	token, _ := secretFor(t, "github-pat", newRand(1))
	s := New(1 << 20)
	found, _ := s.Scan("a", []byte(token))
	_, spent := New(10).Scan("a", []byte(token))
	out, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	print := fmt.Sprintf("%v %+v %#v %s %s %v", found, found, found, found, out, spent)
	sum := fmt.Sprintf("%x", found[0].Fingerprint)
	sumBytes := strings.Trim(fmt.Sprint(found[0].Fingerprint), "[]")
	for _, bad := range []string{token, token[4:20], sum, sumBytes} {
		if strings.Contains(print, bad) {
			t.Errorf("%q is in %s", bad, print)
		}
	}
}

func TestIn(t *testing.T) {
	rnd := newRand(1)
	token, _ := secretFor(t, "github-pat", rnd)
	other, _ := secretFor(t, "github-pat", rnd)
	f := only(t, "a", "x "+token)
	for text, want := range map[string]bool{
		token: true, "moved " + token + " here": true, "x" + token: true,
		"": false, token[1:]: false, other: false, other + token[:30]: false,
	} {
		if published(f, []byte(text)) != want {
			t.Errorf("In is %v for %d bytes", !want, len(text))
		}
	}
	if published(Finding{}, []byte("anything")) {
		t.Error("a finding of nothing is in something")
	}
}

// TestFreshIsBounded: neither data in which everything has the secret's checksum
// nor secrets of many lengths may cost more than a few passes.
func TestFreshIsBounded(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var many []Finding
	for n := range 10000 {
		f := Finding{End: n + 1000}
		f.sum = checksum(zeros[:f.End])
		many = append(many, f)
	}
	if fresh := Fresh(many, zeros); len(fresh) != len(many) {
		t.Errorf("%d of %d secrets are taken for published", len(many)-len(fresh), len(many))
	}
}

func TestFresh(t *testing.T) {
	rnd := newRand(1)
	a, _ := secretFor(t, "github-pat", rnd)
	b, _ := secretFor(t, "github-pat", rnd)
	c, _ := secretFor(t, "gitlab-pat", rnd)
	found, err := New(1<<20).Scan("x", []byte(a+" "+b+" "+c+" "+a+"\n"))
	if err != nil || len(found) != 4 {
		t.Fatal(found, err)
	}
	old := strings.Repeat("was "+a+" here\n", 100)
	if got, want := fmt.Sprint(Fresh(found, []byte(old))), fmt.Sprint(found[1:3]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Fresh(found, []byte(c+b+a)); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestBudget(t *testing.T) {
	token, _ := secretFor(t, "github-pat", newRand(1))
	s := New(1 << 10)
	var err error
	for n := 0; err == nil; n++ {
		if n > 100 {
			t.Fatal("the budget does not end")
		}
		_, err = s.Scan("a", []byte(token))
	}
	if !errors.Is(err, ErrBudget) {
		t.Fatal(err)
	}
	if _, err = s.Scan("a", []byte(token)); !errors.Is(err, ErrBudget) {
		t.Errorf("a spent budget gives %v", err)
	}
	if _, err = s.Scan("a", []byte("nothing to look at")); err != nil {
		t.Errorf("a blob that costs nothing gives %v", err)
	}
}

// TestBudgetKeepsFindings: what was found before the budget ended is reported.
func TestBudgetKeepsFindings(t *testing.T) {
	token, _ := secretFor(t, "github-pat", newRand(1))
	data := token + "\n" + strings.Repeat("vault s."+strings.Repeat("a1", 12)+"\n", 1000)
	found, err := New(2000).Scan("a", []byte(data))
	if !errors.Is(err, ErrBudget) || len(found) == 0 || found[0].Rule != "github-pat" {
		t.Errorf("got %v, %v", found, err)
	}
}

// TestCostFollowsCandidates: text that only talks about keys costs no budget.
func TestCostFollowsCandidates(t *testing.T) {
	text := bytes.Repeat([]byte("The api key and the access token are secret; auth needs a password.\n"), 10000)
	if _, err := New(0).Scan("a.md", text); err != nil {
		t.Error(err)
	}
}

// TestRunsAreReadOnce: of a value without a greatest length no more is read for each name in it
// than the regex reads. One report of names would else spend the scan of all of COMMS.md.
func TestRunsAreReadOnce(t *testing.T) {
	for _, names := range []string{"key=", "keykeykey=", "api_key==", "key=a/b/"} {
		text := []byte(strings.Repeat(names, 11_500/len(names)) + "\n")
		if found, err := New(1<<20).Scan("COMMS.md", text); err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", names, found, err)
		}
	}
}
