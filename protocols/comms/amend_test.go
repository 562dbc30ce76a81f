package comms

import "git-ward/internal/diag"

// What these tests say most often.

func appendReport(data []byte, r NewReport) (out []byte, id int, err error) {
	a, err := Amend(data, r, Whole)
	return a.Data, a.ID, err
}

func appendQuestion(data []byte, q NewQuestion) (out []byte, id int, err error) {
	a, err := Amend(data, q, Whole)
	return a.Data, a.ID, err
}

func addDirective(data []byte, draft Draft, retired Set) (out []byte, id int, found []diag.Diagnostic, err error) {
	a, err := Amend(data, Addition{draft, retired}, Whole)
	return a.Data, a.ID, a.Found, err
}

func editDirective(data []byte, draft Draft) (out []byte, found []diag.Diagnostic, err error) {
	a, err := Amend(data, Edit{draft}, Whole)
	return a.Data, a.Found, err
}
