package sandbox

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ward/internal/tier"
)

// What the script model plays in every sequence, and sequences that were found to fail.
//
//go:embed testdata/sequences
var sequences embed.FS

// adoptable says whether git ward init adopts.
const adoptable = true

// TestSequences: whatever a PM does between and during the agent's runs, and wherever
// the agent is killed, each directive ends or waits for somebody, says so, and can be
// moved on; a text that can be done is done, and fsck finds nothing (WORK-2). It plays
// testdata/sequences/*.txt and random ones; WARD_SEQUENCES says how many, as FROM-TO
// or a number, and WARD_SEQUENCE is one to play, its lines separated by ";".
func TestSequences(t *testing.T) {
	tier.Full(t, "dozens of runs of the agent")
	if one := os.Getenv("WARD_SEQUENCE"); one != "" {
		lines := strings.Split(one, ";")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		if err := playAll(t, lines, os.Getenv("WARD_ADOPTED") != ""); err != nil {
			t.Error(err)
		}
		return
	}
	known, err := sequences.ReadDir("testdata/sequences")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range known {
		if !strings.HasSuffix(file.Name(), ".txt") {
			continue
		}
		t.Run(file.Name(), func(t *testing.T) {
			t.Parallel()
			data, err := sequences.ReadFile("testdata/sequences/" + file.Name())
			if err != nil {
				t.Fatal(err)
			}
			if err := playAll(t, sequenceOf(string(data)), false); err != nil {
				t.Error(err)
			}
		})
	}
	from, to := seeds(t)
	for seed := from; seed <= to; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(14, uint64(seed)))
			lines, adopted := randomSequence(random), adoptable && seed%2 == 0
			if err := playAll(t, lines, adopted); err != nil {
				shorter, err := shrink(t, lines, adopted, err)
				t.Errorf("%v\nthe sequence (adopted: %v) is:\n  %s\nWARD_SEQUENCE='%s' plays it", err, adopted, strings.Join(shorter, "\n  "), strings.Join(shorter, "; "))
			}
		})
	}
}

// sequenceOf are the lines of a file, without what begins with #.
func sequenceOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// seeds are those of the random sequences to play.
func seeds(t *testing.T) (from, to int) {
	const count = 2 // one of each kind of project: all tests together have half an hour, and the known ones take minutes of it
	value := os.Getenv("WARD_SEQUENCES")
	if value == "" {
		return 1, count
	}
	first, last, span := strings.Cut(value, "-")
	from, err := strconv.Atoi(first)
	if to = from; err == nil && span {
		to, err = strconv.Atoi(last)
	} else {
		from = 1
	}
	if err != nil {
		t.Fatalf("WARD_SEQUENCES=%s is neither a number nor FROM-TO", value)
	}
	return from, to
}

// playAll plays a sequence in a repository of its own, and brings it to its end.
func playAll(t *testing.T, lines []string, adopted bool) error {
	t.Helper()
	s := newScene(t, adopted)
	err := s.begin()
	start := time.Now()
	for _, line := range lines {
		if err != nil {
			break
		}
		fmt.Fprintf(&s.log, "\n>>> %s\n", line)
		if err = s.play(line); err != nil {
			err = fmt.Errorf("%s: %w", line, err)
		}
	}
	if err == nil {
		fmt.Fprintf(&s.log, "\n>>> the end\n")
		err = s.finish()
	}
	if path := os.Getenv("WARD_SEQUENCE_LOG"); path != "" {
		os.WriteFile(path, []byte(s.log.String()), 0o644)
	}
	t.Logf("%d verbs in %v, of which the agent ran %v", len(lines), time.Since(start).Round(time.Millisecond), s.agentRun.Round(time.Millisecond))
	return err
}

// begin puts the script on the control branch and the worker into the project.
func (s *scene) begin() error {
	for name, b := range map[string]branch{"script.jsonl": s.control, "work.sh": s.project} {
		data, err := sequences.ReadFile("testdata/sequences/" + name)
		if err != nil {
			return err
		}
		err = s.commit(b, name, func(dir string) error { return os.WriteFile(filepath.Join(dir, name), data, 0o644) })
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	kinds = []string{"good", "good", "slow", "own", "linked", "nested", "papers", "shared", "shared", "away", "budget", "refused", "fails", "idle", "asks",
		"tells", "large", "odd", "nogit", "strays", "amends"}
	verbs = []string{
		"edit", "edit", "edit", "edit", "merge", "merge", "take", "take", "drop", "clarify", "pause", "resume", "fork", "fork", "fresh", "cancel", "waive",
		"deny", "retry", "approve", "reject", "heartbeat", "archive", "unbranch", "reset", "remove", "main", "stop", "go",
		"squash", "squash", "expire", "half", "rename", "rewrite", "break", "mend",
	}
)

// randomSequence is one of three directives, where each second line or so is a run.
func randomSequence(r *rand.Rand) (lines []string) {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	directive := func() string { return fmt.Sprint("D-", 1+r.IntN(3)) }
	verb := func() string {
		switch v := pick(verbs); v {
		case "edit":
			return "edit " + directive() + " " + pick(kinds)
		case "main", "stop", "go", "rewrite", "break", "mend":
			return v
		default:
			return v + " " + directive()
		}
	}
	lines = append(lines, "edit "+directive()+" "+pick(kinds))
	for range 4 + r.IntN(6) {
		switch r.IntN(10) {
		case 0, 1:
			lines = append(lines, "run")
		case 2, 3:
			lines = append(lines, fmt.Sprint("run kill ", 1+r.IntN(14)))
		case 4:
			lines = append(lines, fmt.Sprint("run late ", 1+r.IntN(14)))
		case 5:
			lines = append(lines, fmt.Sprintf("run at %d: %s", 1+r.IntN(14), verb()))
		case 6:
			lines = append(lines, fmt.Sprintf("run %sin %s: %s", pick([]string{"", "kill "}), pick([]string{"begin", "step", "words"}), verb()))
		default:
			lines = append(lines, verb())
		}
		if r.IntN(5) == 0 {
			lines = append(lines, "lose")
		}
	}
	return lines
}

// shrink leaves lines out as long as the sequence still fails, for a minute or for
// WARD_SHRINK, and returns the failure of what is left.
func shrink(t *testing.T, lines []string, adopted bool, failed error) ([]string, error) {
	limit, err := time.ParseDuration(os.Getenv("WARD_SHRINK"))
	if err != nil {
		limit = time.Minute
	}
	end := time.Now().Add(limit)
	for i := len(lines) - 1; i >= 0 && time.Now().Before(end); i-- {
		shorter := slices.Delete(slices.Clone(lines), i, i+1)
		if err := playAll(t, shorter, adopted); err != nil {
			lines, failed = shorter, err
		}
	}
	return lines, failed
}
