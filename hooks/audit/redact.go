package audit

import "git-ward/hooks/secret"

// redact removes secrets from the names in a refused push's record: no secret enters the audit
// (AUD-1), and no ref of such a name was created. Accepted names were searched before.
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
