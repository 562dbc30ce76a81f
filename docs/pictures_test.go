package docs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/fsm"

	"git-ward/internal/gittest"
)

// TestMachinesAreDrawn: the pictures of the machines, which need no binary to be drawn, are
// compared in the quick tier, too.
func TestMachinesAreDrawn(t *testing.T) {
	for _, name := range fsm.Names() {
		m, ok := fsm.Embedded(name)
		if !ok {
			t.Fatal(name)
		}
		if then, err := os.ReadFile("pictures/" + name + ".dot"); err != nil || string(then) != m.Dot() {
			t.Errorf("pictures/%s.dot is not what the code draws today: run scripts/draw (%v)", name, err)
		}
	}
}

// TestPicturesAreTheCodes draws all pictures again: the committed ones show the code as
// it is today, and each .svg was made of its .dot.
func TestPicturesAreTheCodes(t *testing.T) {
	tier.First(t, "it builds git-ward to draw its machines")
	if err := gittest.Tree(); err != nil { // scripts/draw reads all of it
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("../scripts/draw", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	drawn, err := filepath.Glob(dir + "/*.dot")
	if err != nil || len(drawn) < 6 {
		t.Fatalf("only %q %v", drawn, err)
	}
	for _, path := range drawn {
		name := filepath.Base(path)
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		then, err := os.ReadFile("pictures/" + name)
		if err != nil || !bytes.Equal(now, then) {
			t.Errorf("pictures/%s is not what the code draws today: run scripts/draw (%v)", name, err)
			continue
		}
		svg, err := os.ReadFile("pictures/" + name[:len(name)-len("dot")] + "svg")
		if err != nil || !bytes.Contains(svg, fmt.Appendf(nil, "<!-- %x is", sha256.Sum256(then))) {
			t.Errorf("the .svg of pictures/%s was made of another: run scripts/draw where graphviz is (%v)", name, err)
		}
	}
	if kept, err := filepath.Glob("pictures/*.dot"); err != nil || len(kept) != len(drawn) {
		t.Errorf("%d pictures are kept, %d are drawn: %v", len(kept), len(drawn), err)
	}
}

// differs is what differs between two recordings of the same: ids, and how long it took.
var differs = regexp.MustCompile(`[0-9a-f]{12,64}|\b[0-9]+ s\b`)

// TestEndingIsRecorded: the picture that README begins with is what a directive's end looks like
// today, for a program that reads it and a person who searches it.
func TestEndingIsRecorded(t *testing.T) {
	tier.Full(t, "a directive in the real fence")
	if why := missing("fence"); why != "" {
		t.Skip("SKIPPED: " + why)
	}
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "ending.svg")
	cmd := exec.Command("../scripts/record", out)
	cmd.Env = append(os.Environ(), "WARD_TEST_BIN="+bin)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	now, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	then, err := os.ReadFile("pictures/ending.svg")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := differs.ReplaceAll(now, []byte("#")), differs.ReplaceAll(then, []byte("#")); !bytes.Equal(got, want) {
		t.Errorf("pictures/ending.svg is not what happens today: run scripts/record\n%s", now)
	}
	if n := len(then); n > 16<<10 || xml.Unmarshal(then, new(struct{ XMLName xml.Name })) != nil {
		t.Errorf("it has %d bytes, or is no XML", n)
	}
}
