package halting

import (
	"fmt"
	"math/rand"
	"strings"
)

// rule is a Turing machine's for one state and symbol; next -1 is undefined, and
// a machine that gets there halts.
type rule struct {
	write, dir, next int
}

// turing is a 2-symbol machine: rules by state and symbol.
type turing [][2]rule

func (m turing) String() string {
	var b strings.Builder
	for _, row := range m {
		for _, r := range row {
			if r.next < 0 {
				b.WriteString("---")
			} else {
				fmt.Fprintf(&b, "%d%c%c", r.write, "LR"[(r.dir+1)/2], 'A'+rune(r.next))
			}
		}
		b.WriteByte('_')
	}
	return strings.TrimSuffix(b.String(), "_")
}

// run executes at most limit steps on an empty tape; state and symbol are where
// an undefined rule stopped it.
func (m turing) run(limit int) (halted bool, state, symbol int) {
	tape := make([]uint8, 2*limit+3)
	head := limit + 1
	for range limit {
		symbol = int(tape[head])
		r := m[state][symbol]
		if r.next < 0 {
			return true, state, symbol
		}
		tape[head] = uint8(r.write)
		head += r.dir
		state = r.next
	}
	return false, state, symbol
}

// stepLimits are the busy beaver numbers: a machine of so many states that has
// not halted within them never does (for 5 only a number of steps to try).
var stepLimits = map[int]int{2: 6, 3: 21, 4: 107, 5: 1000}

// enumerate calls visit with every machine of n states in tree normal form: a
// rule is only chosen where an execution asks for it, a new state is always the
// next one, and the first move goes right.
func enumerate(n int, visit func(m turing, halts bool)) {
	m := make(turing, n)
	for i := range m {
		m[i] = [2]rule{{next: -1}, {next: -1}}
	}
	var walk func(used int)
	walk = func(used int) {
		halted, state, symbol := m.run(stepLimits[n])
		visit(m, halted)
		if !halted {
			return
		}
		for _, r := range choices(n, used, state == 0 && symbol == 0 && used == 1) {
			m[state][symbol] = r
			walk(max(used, r.next+1))
		}
		m[state][symbol] = rule{next: -1}
	}
	walk(1)
}

func choices(n, used int, first bool) (rules []rule) {
	for next := range min(n, used+1) {
		for write := range 2 {
			for _, dir := range [...]int{1, -1} {
				if first && dir < 0 {
					continue
				}
				rules = append(rules, rule{write, dir, next})
			}
		}
	}
	return rules
}

// sample walks random branches of the tree of n states, count times.
func sample(n, count int, random *rand.Rand, visit func(m turing, halts bool)) {
	for range count {
		m := make(turing, n)
		for i := range m {
			m[i] = [2]rule{{next: -1}, {next: -1}}
		}
		for used := 1; ; {
			halted, state, symbol := m.run(stepLimits[n])
			if !halted || used == n && random.Intn(2*n) == 0 {
				visit(m, halted)
				break
			}
			all := choices(n, used, used == 1 && state == 0 && symbol == 0)
			r := all[random.Intn(len(all))]
			m[state][symbol] = r
			used = max(used, r.next+1)
		}
	}
}

// wild draws whole tables of n states with some rules undefined, used or not.
func wild(n, count int, random *rand.Rand, visit func(m turing, halts bool)) {
	for range count {
		m := make(turing, n)
		for i := range m {
			for y := range m[i] {
				m[i][y] = rule{random.Intn(2), 2*random.Intn(2) - 1, random.Intn(n)}
			}
		}
		for range 1 + random.Intn(2) {
			m[random.Intn(n)][random.Intn(2)] = rule{next: -1}
		}
		halts, _, _ := m.run(stepLimits[n])
		visit(m, halts)
	}
}

// encode spells a machine as a plan in one of several ways; random chooses.
func (m turing) encode(style int, random *rand.Rand) string {
	switch style {
	case 0:
		return m.labels("R0", [2]int64{0, 1}, false)
	case 1:
		return m.labels("R3", [2]int64{0, 7}, true)
	case 2:
		return m.labels("R2", [2]int64{0, -5}, random != nil && random.Intn(2) == 0)
	default:
		return m.register()
	}
}

// styles is how many ways there are.
const styles = 4

// labels has a label for each state.
func (m turing) labels(reg string, symbols [2]int64, greater bool) string {
	var b strings.Builder
	for s, row := range m {
		fmt.Fprintf(&b, "LABEL s%d\nREAD %s\nCMP %s %d\n", s, reg, reg, symbols[0])
		first, second := 0, 1
		if greater {
			fmt.Fprintf(&b, "JNE s%dx\n", s)
		} else {
			fmt.Fprintf(&b, "JE s%dx\n", s)
			first, second = 1, 0
		}
		action(&b, row[first], symbols)
		fmt.Fprintf(&b, "LABEL s%dx\n", s)
		action(&b, row[second], symbols)
	}
	return b.String()
}

func action(b *strings.Builder, r rule, symbols [2]int64) {
	if r.next < 0 {
		b.WriteString("HALT\n")
		return
	}
	fmt.Fprintf(b, "WRITE %d\n%s\nJMP s%d\n", symbols[r.write], [...]string{"LEFT", "", "RIGHT"}[r.dir+1], r.next)
}

// register keeps the state in R1 and the symbol in R2, and moves last.
func (m turing) register() string {
	var b strings.Builder
	b.WriteString("MOV R1 10\nLABEL loop\nREAD R2\nMOV R0 R1\nADD R0 R1\nADD R0 R2\n")
	for s, row := range m {
		for y, r := range row {
			fmt.Fprintf(&b, "CMP R0 %d\nJNE not%d%d\n", 2*(s+10)+y, s, y)
			if r.next < 0 {
				fmt.Fprintf(&b, "HALT\n")
			} else {
				fmt.Fprintf(&b, "MOV R1 %d\nMOV R3 %d\nWRITE R3\n%s\nJMP loop\n", r.next+10, r.write, [...]string{"LEFT", "", "RIGHT"}[r.dir+1])
			}
			fmt.Fprintf(&b, "LABEL not%d%d\n", s, y)
		}
	}
	return b.String()
}
