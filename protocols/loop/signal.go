package loop

// Signal is backpressure: a request to stop (003, section 6.1; LOOP-9).
type Signal struct {
	Kind   SignalKind `json:"kind"`
	Detail string     `json:"detail"` // where the signal was seen
}

// SignalKind names a signal as 003 does.
type SignalKind string

// The signals.
const (
	StopFile       SignalKind = "external_stop_flag_file_present"
	DiskFull       SignalKind = "disk_quota_exceeded"
	RateLimit      SignalKind = "API_rate_limit_exceeded"
	UserInterrupt  SignalKind = "user_interrupt"
	DependencyDown SignalKind = "downstream_dependency_unavailable"
)

// StopPath is the file that stops a loop if it is in main's tree, the branch's tree or the work tree.
const StopPath = "scratch/STOP"

// Words is the signal for people.
func (s Signal) Words() string {
	text := map[SignalKind]string{
		StopFile: "the file " + StopPath + " is there", DiskFull: "the disk is over 90 % full", RateLimit: "the model's API limits the rate, or does not answer",
		UserInterrupt: "somebody interrupted the loop", DependencyDown: "something that the loop depends on is down",
	}[s.Kind]
	if text == "" {
		text = string(s.Kind)
	}
	if s.Detail != "" {
		text += " (" + s.Detail + ")"
	}
	return text
}

// DiskOver90 reports whether more than 90 % of the disk is used. It divides first, so that large
// numbers do not overflow.
func DiskOver90(used, total uint64) bool {
	return total > 0 && used/9 > total/10
}
