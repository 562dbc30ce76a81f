package secret

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"
)

func TestSpend(t *testing.T) {
	root := os.Getenv("CORPUS2")
	if root == "" {
		t.Skip()
	}
	s := New(1 << 60)
	per := map[string]int{}
	type fs struct {
		p    string
		n    int
		rule string
		size int
	}
	var all []fs
	filepath.Walk(root, func(p string, fi os.FileInfo, err error) error {
		if err != nil || !fi.Mode().IsRegular() {
			return nil
		}
		d, err := os.ReadFile(p)
		if err != nil {
			return nil
		}
		s.prepare()
		s.locate(p, d)
		for i := range rules {
			n := 0
			for _, sp := range s.trackers[i].spans {
				n += sp.to - sp.from
			}
			per[rules[i].id] += n
			if n > 10000 {
				all = append(all, fs{p, n, rules[i].id, len(d)})
			}
		}
		return nil
	})
	var ks []string
	for k := range per {
		ks = append(ks, k)
	}
	sort.Slice(ks, func(i, j int) bool { return per[ks[i]] > per[ks[j]] })
	for _, k := range ks[:14] {
		fmt.Println(k, per[k])
	}
	sort.Slice(all, func(i, j int) bool { return all[i].n > all[j].n })
	for _, a := range all[:min(25, len(all))] {
		fmt.Println(a)
	}
}
