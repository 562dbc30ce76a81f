package secret
import ("testing";"fmt";"time";"strings";"sort")
func TestWorst(t *testing.T) {
	type res struct{ id, kind string; ns float64; spent int64 }
	var all []res
	for _, r := range rules {
		if len(r.anchors)==0 {continue}
		for _, a := range r.anchors[:1] {
			fill := ""
			for i := 0; i < len(a.then); i += 2 { set := sets[a.then[i]]; for b := 255; b >= 0; b-- { if b<128 && set.has(byte(b)) { fill += strings.Repeat(string(rune(b)), int(a.then[i+1])); break } } }
			v := "x1y2z3w4v5u6t7s8a9b0"
			for kind, piece := range map[string]string{
				"plain": a.text+fill+" ", "dense": a.text+fill, "run": a.text+fill+strings.Repeat(v,20), "runs": a.text+fill+strings.Repeat(v,20)+"\n",
				"assign": a.text+" = \""+strings.Repeat(v, 8)[:max(10, min(100, func() int { if r.value!=nil {return r.value.min}; return 32 }()))]+"\"\n",
				"assigndense": a.text+"="+strings.Repeat(v, 8)[:max(10, min(100, func() int { if r.value!=nil {return r.value.min}; return 32 }()))]+";",
			} {
				text := []byte(strings.Repeat(piece, 300000/len(piece)))
				s := New(1<<40)
				s.prepare()
				t0 := time.Now()
				s.Scan("x.yaml", text)
				d := time.Since(t0)
				spent := int64(1<<40)-s.budget
				if spent > 20000 { all = append(all, res{r.id, kind, float64(d)/float64(spent), spent}) }
			}
		}
	}
	sort.Slice(all, func(i,j int) bool {return all[i].ns>all[j].ns})
	for _, a := range all[:30] { fmt.Println(a) }
}
