package door

import (
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/tier"
)

// TestPersonBesideAFlood: while as many of the agent's pushes as the door runs at once do
// nothing but work, all of them give way to a person's push into the repository itself.
// What that takes is told: the quickest of some, because other work of the machine only
// ever adds.
func TestPersonBesideAFlood(t *testing.T) {
	tier.Full(t, "a flood of pushes that work")
	f := newFixture(t, func(c *config.Config) { c.Door.CPU.Duration, c.Door.CPUPerMinute.Duration = time.Hour, time.Hour })
	pack := deltaFlood(600, 10<<20)
	quickest := func() time.Duration {
		least := time.Duration(math.MaxInt64)
		for range 4 {
			f.commit("b", time.Now().String())
			began := time.Now()
			f.git(f.clone, "push", "-q", f.bare, "HEAD:refs/heads/person")
			least = min(least, time.Since(began))
		}
		return least
	}
	alone := quickest()
	var end []func() error
	for range 2 * atOnce {
		conn := f.dial()
		go func() {
			conn.Write(append(updates(strings.Repeat("1", 40), "refs/heads/bomb"), pack...))
			conn.CloseWrite()
		}()
		end = append(end, conn.Close)
	}
	working := func() bool { // a person's ends by itself
		busy := 0
		for _, pid := range running(f.bare) {
			if cpu, _ := machine.usage(pid); cpu > 0 {
				busy++
			}
		}
		return busy >= atOnce
	}
	await.True(t, "there is a flood", working)
	await.True(t, "the flood gives way", func() bool { // each a moment after it was started
		for _, pid := range running(f.bare) {
			if priority, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err == nil && 20-priority < nice { // as the kernel tells it, getpriority(2)
				return false
			}
		}
		return true
	})
	beside := quickest()
	if !working() {
		t.Error("the flood has ended before the pushes beside it")
	}
	for _, close := range end {
		close()
	}
	for _, pid := range running(f.bare) {
		killSession(pid)
	}
	await.True(t, "the flood is over", func() bool { return len(running(f.bare)) == 0 })
	t.Logf("a person's push, at its quickest: %v alone, %v beside %d pushes of the agent's that work", alone, beside, atOnce)
}
