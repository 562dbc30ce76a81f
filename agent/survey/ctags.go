package survey

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"git-ward/internal/process"
	"git-ward/protocols/symbols"
)

// tagger is an installed universal-ctags.
type tagger struct {
	program string
	version string // first line of its version, which identifies it
}

// Bounds of ctags: time for all files of a survey, bytes that it prints.
const (
	tagTime   = time.Minute
	tagOutput = 64 << 20
)

// taggers caches findTagger's results by path.
var taggers sync.Map

// findTagger is nil if there is none, or another ctags. Each program is run once.
func findTagger(ctx context.Context) *tagger {
	program, err := exec.LookPath("ctags")
	if err != nil {
		return nil
	}
	if t, ok := taggers.Load(program); ok {
		return t.(*tagger)
	}
	out, err := runTagger(ctx, "/", program, "", "--options=NONE", "--version")
	version, _, _ := strings.Cut(out, "\n")
	if err != nil || !strings.Contains(version, "Universal Ctags") {
		return nil
	}
	t := &tagger{program, version}
	taggers.Store(program, t)
	return t
}

// run gives files' symbols by path, in ctags's order.
func (t *tagger) run(ctx context.Context, dir string, list []tracked) (map[string][]symbols.Symbol, error) {
	var names strings.Builder
	for _, f := range list {
		names.WriteString("./" + f.path + "\n") // no file name is taken for an option
	}
	out, err := runTagger(ctx, dir, t.program, names.String(), symbols.TagOptions()...)
	if err != nil {
		return nil, err
	}
	found := map[string][]symbols.Symbol{}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if p, s, ok := symbols.ParseTag(lines.Bytes()); ok {
			p = strings.TrimPrefix(p, "./")
			found[p] = append(found[p], s)
		}
	}
	return found, lines.Err()
}

// runTagger runs it without the environment, which could contain options.
func runTagger(ctx context.Context, dir, program, input string, args ...string) (string, error) {
	var out bytes.Buffer
	c := &process.Command{Dir: dir, Args: append([]string{program}, args...), Env: []string{"LC_ALL=C.UTF-8", "TMPDIR=" + os.TempDir()}, Stdin: strings.NewReader(input), Stdout: &out,
		Timeout: tagTime, Output: tagOutput}
	status, stopped, err := c.Run(ctx)
	if err = cmp.Or(err, stopped); err == nil && !status.OK() {
		err = errors.New("it ended with an error")
	}
	return out.String(), err
}
