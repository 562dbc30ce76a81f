package audit

import "git-ward/hooks/secret"

// redact takes secrets out of the names in a record of a push that did not enter: no
// secret enters the audit (AUD-1), and a ref of such a name never became one. What
// entered was searched before.
func (r *Record) redact() {
	if r.Verdict == Accepted {
		return
	}
	var texts []*string
	for i := range r.Refs {
		texts = append(texts, &r.Refs[i].Ref)
	}
	for i := range r.Allowed {
		texts = append(texts, &r.Allowed[i])
	}
	secret.Redact(texts...)
}
