package broken

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/pattern"
)

// As a Go test begins, it checks whether the process's arguments, directory and flags, and the variables
// that its file names, are those that the kernel started it with: the work can change them before any
// test, and so lead a test around its check. It reads the arguments as flag.Parse does. A flag that they
// do not set must have its default; the work can change a default, too, but testing's own boolean flags
// default to false. A flag that they set must print as a new value of its type that is set so. Where no
// new value can be made, nothing is reported: the flag is no pointer, or may hold what its maker put
// there. A struct of package testing, such as test.v's, is complete as its zero. The work can also
// register other flags in the place of testing's, which testing does not read.
const goBegun = `
	wardTakes := func(wardWhat string) {
		%[1]s
	}
	if wardB, wardE := wardOS.ReadFile("/proc/self/cmdline"); wardE == nil {
		wardGiven := wardStrings.Split(wardStrings.TrimSuffix(string(wardB), "\x00"), "\x00")
		if !wardReflect.DeepEqual(wardOS.Args, wardGiven) {
			wardTakes("os.Args")
		}
		wardBool := func(wardF *wardFlag.Flag) bool {
			wardIs, wardOK := wardF.Value.(interface{ IsBoolFlag() bool })
			return wardOK && wardIs.IsBoolFlag()
		}
		wardAnew := func(wardOf wardFlag.Value, wardAll []string) (wardWas string) {
			wardWas = wardOf.String()
			defer func() { _ = recover() }()
			wardType := wardReflect.TypeOf(wardOf).Elem()
			switch wardType.Kind() {
			case wardReflect.Struct:
				if wardType.PkgPath() != "testing" {
					return wardWas
				}
			case wardReflect.Map, wardReflect.Ptr, wardReflect.Interface, wardReflect.Func, wardReflect.Chan:
				return wardWas
			}
			wardNew := wardReflect.New(wardType).Interface().(wardFlag.Value)
			for _, wardOne := range wardAll {
				if wardNew.Set(wardOne) != nil {
					return wardWas
				}
			}
			return wardNew.String()
		}
		wardSet := map[string][]string{}
		for wardI := 1; wardI < len(wardGiven); wardI++ {
			wardName := wardGiven[wardI]
			if len(wardName) < 2 || wardName[0] != '-' || wardName == "--" {
				break
			}
			wardName, wardValue, wardHas := wardName[1:], "true", false
			if wardName[0] == '-' {
				wardName = wardName[1:]
			}
			if wardAt := wardStrings.Index(wardName, "="); wardAt >= 0 {
				wardName, wardValue, wardHas = wardName[:wardAt], wardName[wardAt+1:], true
			}
			wardF := wardFlag.Lookup(wardName)
			if wardF == nil {
				break
			}
			if !wardHas && !wardBool(wardF) && wardI+1 < len(wardGiven) {
				wardI++
				wardValue = wardGiven[wardI]
			}
			wardSet[wardName] = append(wardSet[wardName], wardValue)
		}
		wardFlag.VisitAll(func(wardF *wardFlag.Flag) {
			wardIs, wardWas := wardF.Value.String(), wardF.DefValue
			if wardBool(wardF) && wardStrings.HasPrefix(wardF.Name, "test.") {
				wardWas = "false"
			}
			if wardAll := wardSet[wardF.Name]; wardAll != nil {
				wardWas = wardAll[len(wardAll)-1]
				if wardIs != wardWas {
					wardWas = wardAnew(wardF.Value, wardAll)
				}
			}
			if wardIs != wardWas {
				wardTakes("the flag " + wardF.Name)
			}
		})
		wardShort := wardFlag.Lookup("test.short")
		if wardShort == nil || wardShort.Value.String() != map[bool]string{true: "true", false: "false"}[wardTesting.Short()] {
			wardTakes("flag.CommandLine")
		}
	}
	if wardB, wardE := wardOS.ReadFile("/proc/self/environ"); wardE == nil {
		for _, wardName := range wardStrings.Fields(%[2]q) {
			_, wardWas, wardHad := wardStrings.Cut("\x00"+string(wardB), "\x00"+wardName+"=")
			wardWas, _, _ = wardStrings.Cut(wardWas, "\x00")
			if wardIs, wardHas := wardOS.LookupEnv(wardName); wardHas != wardHad || wardIs != wardWas {
				wardTakes("the variable " + wardName)
			}
		}
		_, wardAt, wardHad := wardStrings.Cut("\x00"+string(wardB), "\x00PWD=")
		wardAt, _, _ = wardStrings.Cut(wardAt, "\x00")
		wardWas, wardE := wardOS.Stat(wardAt)
		if wardIs, wardNow := wardOS.Stat("."); wardHad && wardE == nil && (wardNow != nil || !wardOS.SameFile(wardWas, wardIs)) {
			wardTakes("the working directory")
		}
	}
`

// goQuoted matches a string that may name a variable.
var goQuoted = pattern.New(`"([A-Za-z_]\w*)"`)

// A function literal in a test reports if something else ends its goroutine: nothing after it is
// compared then, and a deferred call lets the test go on, which may end the process: the report is
// deferred again after each of them, so that it comes before it. The runtime runs deferred calls from
// runtime.Goexit. A test that failed or was skipped has ended the goroutine itself, and so has a Goexit
// in the test's text. A function that takes a type of package testing is a test of its own, which go
// test watches.
const goEnded = `
	wardEndNames, wardEndFailed, wardEndSkipped := [...]string{%[1]s}, %[2]s.Failed, %[2]s.Skipped
	var wardEnded [len(wardEndNames)]int32
	wardEnds := func(wardI int) {
		var wardPCs [32]uintptr
		wardFrames := wardRuntime.CallersFrames(wardPCs[:wardRuntime.Callers(1, wardPCs[:])])
		wardOwn, _ := wardFrames.Next()
		wardFrames.Next()
		if wardBy, _ := wardFrames.Next(); wardBy.Function != "runtime.Goexit" || wardEndFailed() || wardEndSkipped() {
			return
		}
		wardOf, _, _ := wardStrings.Cut(wardOwn.Function, ".%[3]s.")
		for {
			wardBy, wardMore := wardFrames.Next()
			if wardMore && (wardStrings.HasPrefix(wardBy.Function, "runtime.") || wardStrings.HasPrefix(wardBy.Function, "testing.")) {
				continue
			}
			if !wardStrings.HasPrefix(wardBy.Function, wardOf+".%[3]s.") && wardAtomic.CompareAndSwapInt32(&wardEnded[wardI], 0, 1) {
				wardWhat := wardEndNames[wardI] + wardBy.Function
				%[4]s
			}
			return
		}
	}
`

// goTaken adds the checks to the begin of a test, and to its function literals.
func goTaken(f *ast.FuncDecl, parameter, text string, at func(token.Pos) int, m mark) (edits []edit) {
	var quoted []string
	for _, name := range goQuoted.FindAllStringSubmatch(text, -1) {
		quoted = append(quoted, name[1])
	}
	slices.Sort(quoted)
	begins := fmt.Sprintf(goBegun, goTells(m, fmt.Sprintf("%q + wardWhat", m.finds(isReplaced))), strings.Join(slices.Compact(quoted), " "))
	var names []string
	closures := ""
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && !goTakesTest(lit) {
			inside := at(lit.Body.Lbrace) + 1
			edits = append(edits, edit{inside, inside, fmt.Sprintf("\ndefer wardEnd%d()\n", len(names))})
			ast.Inspect(lit.Body, func(n ast.Node) bool {
				if d, ok := n.(*ast.DeferStmt); ok { // the report comes before what this lets go on
					edits = append(edits, edit{at(d.End()), at(d.End()), fmt.Sprintf("; defer wardEnd%d()", len(names))})
				}
				_, inner := n.(*ast.FuncLit)
				return !inner
			})
			closures += fmt.Sprintf("\twardEnd%d := func() { wardEnds(%[1]d) }\n", len(names))
			names = append(names, strconv.Quote(fmt.Sprintf("%s: the function in line %d, by ", f.Name.Name, 1+strings.Count(text[:at(lit.Pos())], "\n"))))
		}
		return true
	})
	if len(names) > 0 {
		begins += fmt.Sprintf(goEnded, strings.Join(names, ", "), parameter, f.Name.Name, goTells(m, fmt.Sprintf("%q + wardWhat", m.finds(isEnded)))) + closures
	}
	brace := at(f.Body.Lbrace) + 1
	return append(edits, edit{brace, brace, begins})
}

// goTakesTest reports whether a function takes a type of package testing.
func goTakesTest(lit *ast.FuncLit) bool {
	for _, field := range lit.Type.Params.List {
		if star, ok := field.Type.(*ast.StarExpr); ok {
			if of, ok := star.X.(*ast.SelectorExpr); ok {
				if x, ok := of.X.(*ast.Ident); ok && x.Name == "testing" {
					return true
				}
			}
		}
	}
	return false
}
