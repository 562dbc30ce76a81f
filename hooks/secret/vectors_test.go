package secret

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestVectors holds the table to the examples by which gitleaks tests its rules.
func TestVectors(t *testing.T) {
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := New(1 << 40)
	for in := bufio.NewScanner(f); in.Scan(); {
		line := in.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		path, err1 := strconv.Unquote(fields[2])
		moved, err2 := strconv.Unquote(fields[3])
		if err1 != nil || err2 != nil {
			t.Fatalf("bad line %q", line)
		}
		r, text := ruleNamed(t, fields[1]), moveBack(moved)
		c := candidates{data: []byte(text)}
		c.found = partScan(t, s, r, path, c.data)
		if want := fields[0] == "+"; want != (len(c.found) > 0) {
			t.Errorf("%s: want a finding: %v, got %v in\n%s", r.id, want, c.findings(), text)
		}
	}
}

// moveBack undoes what hides the examples from scanners.
func moveBack(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		case '0' <= r && r <= '9':
			return '0' + (r-'0'+5)%10
		case r == '|':
			return '~'
		case r == '~':
			return '|'
		}
		return r
	}, s)
}
