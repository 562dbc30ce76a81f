package house

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write into docs/spec.md where each id is cited today")

// requirement is an id of the specification.
var requirement = regexp.MustCompile(`\b(?:CONF|GIT|ID|COMMS|HOOK|AUD|SBX|BOOT|AGT|PLAN|LOG|PROT|LES|ORI|UOW|LOOP|UDC|GATE|REC|CTRL|WORK|SEE|GET|MANY|ONE|TEST|PROOF|FORGE|FIRST|WORD)-[0-9]+[a-z]?\b`)

// bracketed is what stands in parentheses as ids do, whatever its letters.
var bracketed = regexp.MustCompile(`\(([A-Z]{2,9}-[0-9]+[a-z]?)[,)]`)

const specification = "docs/spec.md"

// TestRequirements: docs/spec.md has each id that a file of the tree cites, and no
// other; where it says an id is cited, it is.
func TestRequirements(t *testing.T) {
	cited := citations(t)
	data, err := os.ReadFile(specification)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	listed := map[string]bool{}
	for i, line := range lines {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		id := strings.TrimSpace(cells[0])
		if len(cells) != 3 || requirement.FindString(id) != id || id == "" {
			continue
		}
		if listed[id] {
			t.Errorf("%s:%d: %s is there twice", specification, i+1, id)
		}
		listed[id] = true
		if *update {
			lines[i] = fmt.Sprintf("|%s|%s| %s |", cells[0], cells[1], strings.Join(cited[id], ", "))
			continue
		}
		if len(cited[id]) == 0 {
			t.Errorf("%s:%d: nothing cites %s", specification, i+1, id)
		}
		for place := range strings.SplitSeq(cells[2], ",") {
			if place = strings.TrimSpace(place); !slices.Contains(cited[id], place) {
				t.Errorf("%s:%d: %s is not cited in %q (go test ./internal/house -run Requirements -update)", specification, i+1, id, place)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		if !listed[id] {
			t.Errorf("%s cites %s, which %s does not have", cited[id][0], id, specification)
		}
	}
	if *update {
		if err := os.WriteFile(specification, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// citations are the directories that cite each id, in order: packages, of a file of the
// root "/".
func citations(t *testing.T) map[string][]string {
	t.Helper()
	cited := map[string][]string{}
	for _, path := range files(t) {
		if path == specification {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(data) {
			continue
		}
		folder, _, _ := strings.Cut(filepath.Dir(path), "/testdata")
		if folder == "." {
			folder = "/"
		}
		ids := requirement.FindAllString(string(data), -1)
		for _, m := range bracketed.FindAllStringSubmatch(string(data), -1) {
			ids = append(ids, m[1])
		}
		for _, id := range ids {
			if !slices.Contains(cited[id], folder) {
				cited[id] = append(cited[id], folder)
			}
		}
	}
	for _, folders := range cited {
		slices.Sort(folders)
	}
	return cited
}

// seedNumber cites one of the five seeds, as "(003, section 2.4)", "seed 002" or "001's".
var seedNumber = regexp.MustCompile(`(?:\bseed |\()(00[0-9])\b|\b(00[0-9])(?:,? section|'s)`)

// otherDocument cites a document that a reader of this repository does not have: the
// specification and the notes that the work was ordered with.
var otherDocument = regexp.MustCompile(`FIELD-NOTES|DESIGN\.md|\bSPEC (?:section|[A-Z]+-\d)|\bSPEC$`)

// TestNoOtherDocuments: no comment sends its reader to a document that is not here.
func TestNoOtherDocuments(t *testing.T) {
	goFiles(t, func(path string, text []byte) {
		for i, line := range strings.Split(string(text), "\n") {
			if cited := otherDocument.FindString(line); cited != "" {
				t.Errorf("%s:%d cites %s, which is not in docs/: say what it says, or name an id of %s", path, i+1, cited, specification)
			}
		}
	})
}

// TestSeeds: each seed that a comment cites is explained in docs/spec.md.
func TestSeeds(t *testing.T) {
	data, err := os.ReadFile(specification)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	goFiles(t, func(path string, text []byte) {
		for _, m := range seedNumber.FindAllStringSubmatch(string(text), -1) {
			found++
			if number := m[1] + m[2]; !strings.Contains(string(data), "\n| "+number+" |") {
				t.Errorf("%s cites seed %s, which %s does not have", path, number, specification)
			}
		}
	})
	if found < 20 {
		t.Errorf("only %d citations of seeds were found", found)
	}
}
