package launch

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/gittest"
)

// TestProfile: a launch leaves its own profiles, and of each directive a picture of all that its log
// says has ended, by when that began. Words in it run nothing.
func TestProfile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "profile")
	var file bytes.Buffer
	out, end, err := profiled(&file, dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &launch{}
	l.openLog(out, io.Discard)
	log := l.logOf("door")
	log.Info().Str("name", "D-1.f26e1b0d588cc62a").Str("verb", "receive-pack").Dur("took_ms", 1800*time.Millisecond).Msg("push")
	log.Info().Str("unit", "D-1.1").Str("command", "criterion <script>").Int("run", 2).Msg("a command starts")
	log.Info().Str("unit", "D-1.1").Str("command", "criterion <script>").Int("run", 2).Dur("ms", 200*time.Millisecond).Msg("a command has ended")
	log.Info().Str("directive", "D-1").Dur("ms", time.Minute).Msg("its worker has ended")
	log.Info().Str("directive", "D-2").Msg("something")
	log.Info().Str("directive", "../../D-3").Dur("ms", time.Minute).Msg("no directive")
	log.Info().Msg("launched")
	if n := strings.Count(file.String(), "\n"); n != 7 {
		t.Errorf("the log has %d lines", n)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	files := gittest.Contents(t, dir)
	if len(files) != 4 {
		t.Errorf("it left %d files", len(files))
	}
	for _, name := range []string{"launcher.cpu.pprof", "launcher.heap.pprof"} {
		if !strings.HasPrefix(files[name], "\x1f\x8b") {
			t.Errorf("%s is no profile: %.20q", name, files[name])
		}
	}
	way := files["D-1.svg"]
	gittest.InOrder(t, way, "D-1: 3 steps in 60000 ms", "its worker has ended", "60000 ms", "push (git receive-pack)", "1800 ms", "criterion &lt;script&gt;, run 2", "200 ms")
	gittest.InOrder(t, files["D-2.svg"], "D-2: 1 step in", "something", "at 0 ms")
	for name, text := range files {
		in := xml.NewDecoder(strings.NewReader(text))
		for strings.HasSuffix(name, ".svg") {
			if _, err := in.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
		}
	}
}

// A profile of a launch that goes on for months is bounded.
func TestProfileIsBounded(t *testing.T) {
	p := &profile{dir: t.TempDir(), spans: map[string][]span{}}
	for i := range maxSpans + 1 {
		fmt.Fprintf(p, `{"directive":"D-%d","message":"x"}`, i+1)
		fmt.Fprint(p, `{"directive":"D-1","message":"y","ms":1}`)
	}
	if len(p.spans) != maxDrawn || len(p.spans["D-1"]) != maxSpans {
		t.Errorf("%d directives, %d spans", len(p.spans), len(p.spans["D-1"]))
	}
	if _, _, err := profiled(io.Discard, os.DevNull+"/x"); err == nil {
		t.Error("a profile in no directory")
	}
}
