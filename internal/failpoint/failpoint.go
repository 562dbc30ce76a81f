// Package failpoint holds or kills a program at a named point, so that a test can kill it
// exactly there on any machine. Only the linker arms a program (scripts/build --armed). In any
// other, a point is one comparison with the empty string, whatever the environment says.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// armed is what the linker sets: -X git-ward/internal/failpoint.armed=yes.
var armed string

// Var is the environment variable that tells an armed program what happens where:
// POINT[#N]=kill, or POINT[#N]=hold:FILE, separated by commas. N is the pass on which
// it happens, 1 unless it is named. A held program writes its pid to FILE and goes on when
// FILE is gone.
const Var = "WARD_FAILPOINT"

// Reach marks a named point that the program passes.
func Reach(point string) {
	if armed != "" {
		reach(point)
	}
}

var passes struct {
	sync.Mutex
	of map[string]int
}

func reach(point string) {
	passes.Lock()
	if passes.of == nil {
		passes.of = map[string]int{}
	}
	passes.of[point]++
	pass := passes.of[point]
	passes.Unlock()
	for rule := range strings.SplitSeq(os.Getenv(Var), ",") {
		where, action, _ := strings.Cut(rule, "=")
		name, nth, numbered := strings.Cut(where, "#")
		if !numbered {
			nth = "1"
		}
		if name == point && nth == strconv.Itoa(pass) {
			act(action)
		}
	}
}

func act(action string) {
	if action == "kill" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	file, ok := strings.CutPrefix(action, "hold:")
	if !ok {
		panic("failpoint: " + Var + " has no action " + strconv.Quote(action))
	}
	// Whole when it is there: the test reads it as soon as it sees it.
	temp := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err := os.WriteFile(temp, []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		panic("failpoint: " + err.Error())
	}
	if err := os.Rename(temp, file); err != nil {
		panic("failpoint: " + err.Error())
	}
	for {
		if _, err := os.Lstat(file); err != nil {
			return
		}
		time.Sleep(time.Millisecond) // the removal of a file tells nobody
	}
}
