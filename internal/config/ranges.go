package config

import (
	"fmt"
	"reflect"
	"time"
)

// span is what a number may be; most 0 is no end.
type span struct{ least, most int64 }

// MaxAgents is the most that [launch] agents may be.
const MaxAgents = 100

// maxVerdicts is the most that [verify] agents may be.
const maxVerdicts = 16

// Verdicts is how many run at once where so many agents work.
func (c *Config) Verdicts(agents int) int {
	if c.Verify.Agents > 0 {
		return c.Verify.Agents
	}
	return min(max(agents, 1), maxVerdicts)
}

const (
	mib    = 1 << 20
	second = int64(time.Second)
)

// ranges are those of numbers and times with which nothing would work, though they are
// above 0: the launcher or every push would be ended, in words of the kernel's or podman's.
// All others are at least 1, or a fraction above 0, because 0 would switch a limit off or
// lock everybody out.
var ranges = map[string]span{
	"notify.timeout":      {least: second, most: 3600 * second},
	"forge.poll":          {least: second, most: 24 * 3600 * second},
	"forge.app":           {least: 0},
	"launch.agents":       {least: 1, most: MaxAgents},
	"launch.hand_agents":  {least: 1, most: 200},
	"launch.lease":        {least: 60 * second, most: 24 * 3600 * second}, // renewed each third of it
	"launch.linger":       {least: 0, most: 24 * 3600 * second},
	"launch.silence":      {least: 5 * second, most: 24 * 3600 * second}, // in turns of the launcher, of half a second
	"launch.warm":         {least: 0, most: 16},
	"verify.agents":       {least: 0, most: maxVerdicts}, // 0: as launch.agents
	"launch.memory":       {least: 256 * mib},            // the launcher, podman and git start in less than 64
	"launch.processes":    {least: 128},                  // and threads
	"door.memory":         {least: 64 * mib},
	"door.cpu":            {least: second},
	"door.cpu_per_minute": {least: second},
	"egress.connections":  {least: 1, most: 1_000_000}, // as in sandbox/firewall
	"egress.packets":      {least: 1, most: 10_000_000},
	"budget.calls":        {least: 1, most: 100_000},
	"budget.free_calls":   {least: 1, most: 100_000},
	"sandbox.memory":      {least: 64 * mib},
	"sandbox.processes":   {least: 32}, // the runtime's own threads
	"sandbox.files":       {least: 64},
}

// inRange holds a number or a time to its range.
func inRange(key string, v reflect.Value) error {
	if v.CanFloat() && v.Float() <= 0 {
		return fmt.Errorf("%s must be more than 0", key)
	}
	d, isTime := v.Interface().(Duration)
	if !v.CanInt() && !isTime {
		return nil
	}
	r, bounded := ranges[key]
	if !bounded {
		r.least = 1
	}
	word := func(n int64) string { return fmt.Sprint(n) }
	n := int64(d.Duration)
	if isTime {
		word = func(n int64) string { return fmt.Sprintf("%q", time.Duration(n)) }
	} else {
		n = v.Int()
	}
	switch {
	case n < r.least && bounded && r.least > 1:
		return fmt.Errorf("%s is %s; nothing works with less than %s", key, word(n), word(r.least))
	case n < r.least:
		return fmt.Errorf("%s must be at least %s", key, word(r.least))
	case r.most > 0 && n > r.most:
		return fmt.Errorf("%s is %s; it may be %s at most", key, word(n), word(r.most))
	}
	return nil
}
