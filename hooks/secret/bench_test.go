package secret

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// size is what the benchmarks scan: 10 MB.
const size = 10 << 20

// source gives size bytes of ordinary text: Go's own standard library.
func source(b *testing.B) []byte {
	var text []byte
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		if len(text) >= size {
			return filepath.SkipAll
		}
		data, err := os.ReadFile(path)
		text = append(text, data...)
		return err
	})
	if err != nil || len(text) < size {
		b.Skip("no standard library to scan")
	}
	return text[:size]
}

func BenchmarkIndex(b *testing.B) {
	s := New(0)
	s.prepare()
	text := source(b)
	b.SetBytes(size)
	for b.Loop() {
		for range s.words.hits(text) {
		}
	}
}

func BenchmarkText(b *testing.B) { benchmarkScan(b, source(b)) }

func BenchmarkZeros(b *testing.B) { benchmarkScan(b, make([]byte, size)) }

func benchmarkScan(b *testing.B, text []byte) {
	b.SetBytes(size)
	var spent int64
	for b.Loop() {
		s := New(1 << 40)
		if _, err := s.Scan("x.go", text); err != nil {
			b.Fatal(err)
		}
		spent = 1<<40 - s.budget
	}
	b.ReportMetric(float64(spent), "budget/op")
}

// The worst that a push can hold must stop at the budget, soon.
func BenchmarkHostile(b *testing.B) {
	for name, piece := range map[string]string{
		"names":       "key token secret auth password access api creds ",
		"assignments": "token_key = \"x1y2z3w4v5u6t7s8\"\n",
		"chain":       "key=",
		"curl":        "curl -u ",
		"keys":        "-----BEGIN PRIVATE KEY-----\n",
	} {
		text := bytes.Repeat([]byte(piece), size/len(piece))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if _, err := New(8<<20).Scan("x.go", text); err != nil && err != ErrBudget {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFresh(b *testing.B) {
	text := source(b)
	f := Finding{End: 40}
	b.SetBytes(size)
	for b.Loop() {
		if published(f, text) {
			b.Fatal("found nothing in something")
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	for b.Loop() {
		new(anchors).fill()
	}
}
