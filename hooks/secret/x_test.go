package secret

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

func TestCorpus(t *testing.T) {
	root := os.Getenv("CORPUS")
	if root == "" {
		t.Skip()
	}
	counts := map[string]int{}
	s := New(1 << 60)
	var n, files int64
	var dur time.Duration
	var worst time.Duration
	filepath.Walk(root, func(p string, fi os.FileInfo, err error) error {
		if err != nil || !fi.Mode().IsRegular() {
			return nil
		}
		d, err := os.ReadFile(p)
		if err != nil {
			return nil
		}
		n += int64(len(d))
		files++
		b := s.budget
		t0 := time.Now()
		fs, err := s.Scan(p, d)
		e := time.Since(t0)
		dur += e
		if e > worst {
			worst = e
			fmt.Println("slow", p, len(d), e, b-s.budget)
		}
		for _, f := range fs {
			counts[f.Rule]++
			if os.Getenv("SHOW") != "" && strings.Contains(f.Rule, os.Getenv("SHOW")) {
				ln := bytes.Split(d, []byte("\n"))[max(0, f.Line-1)]
				if len(ln) > 200 {
					ln = ln[:200]
				}
				fmt.Printf("%s %s:%d: %s\n", f.Rule, p, f.Line, ln)
			}
		}
		return nil
	})
	fmt.Println("files", files, "bytes", n, "time", dur, "ns/byte", float64(dur)/float64(n), "spent", 1<<60-s.budget, float64(1<<60-s.budget)/float64(n))
	var ks []string
	for k := range counts {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	for _, k := range ks {
		fmt.Println(k, counts[k])
	}
}
