package logfile

// Causes are the last errors of things that are tried again and again, by what was tried, so that
// an error is logged when it changes.
type Causes map[string]string

// New reports whether an error is another one than at the last try of the same thing. An error
// that is over is forgotten.
func (c Causes) New(what string, err error) bool {
	if err == nil {
		delete(c, what)
		return false
	}
	words := err.Error()
	if c[what] == words {
		return false
	}
	c[what] = words
	return true
}
