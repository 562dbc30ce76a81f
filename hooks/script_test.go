package hooks_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

func TestMain(m *testing.M) {
	if hook := os.Getenv(measuredVar); hook != "" {
		os.Exit(measure(hook))
	}
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// TestScripts runs testdata/*.txtar against the real binaries. Each script starts
// in `work`, a clone of the guarded `../remote.git`. `agent git push ...` pushes
// as the agent.
func TestScripts(t *testing.T) {
	tier.First(t, "it pushes through real hooks")
	runScripts(t, "testdata")
}

// TestLongScripts runs testdata/full/*.txtar in the same way: agents work, long stories.
func TestLongScripts(t *testing.T) {
	tier.Full(t, "ten long stories, some with an agent that works")
	runScripts(t, "testdata/full")
}

func runScripts(t *testing.T, dir string) {
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			vars, err := gittest.Environ(env.WorkDir)
			if err != nil {
				return err
			}
			for _, v := range vars {
				name, value, _ := strings.Cut(v, "=")
				env.Setenv(name, value)
			}
			env.Setenv("BIN", bin)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"guarded": guarded(newPair(t)),
			"agent":   asAgent,
			"jsonl":   jsonLines,
			"answers": answers,
			"setting": hostSetting,
		},
	})
}

// guarded makes remote.git and work, as copies, and enters work.
func guarded(from *gittest.Pair) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		ts.Check(ts.Exec("cp", "--archive", from.Bare, from.Work, ts.MkAbs(".")))
		ts.Check(ts.Chdir("work"))
		ts.Check(ts.Exec("git", "remote", "set-url", "origin", ts.MkAbs("../remote.git")))
		ts.Check(ts.Exec("git", "update-index", "--refresh")) // the copies are other files than the index knows
	}
}

// asAgent runs a command with the door's token in its environment.
func asAgent(ts *testscript.TestScript, neg bool, args []string) {
	token, err := gittest.AgentToken(ts.MkAbs("../remote.git"))
	ts.Check(err)
	for _, v := range token {
		name, value, _ := strings.Cut(v, "=")
		ts.Setenv(name, value)
	}
	err = ts.Exec(args[0], args[1:]...)
	for _, name := range []string{"WARD_PUSH_ID", "WARD_PUSH_TOKEN"} {
		ts.Setenv(name, "")
	}
	if neg && err == nil {
		ts.Fatalf("unexpected success")
	}
	if !neg {
		ts.Check(err)
	}
}
