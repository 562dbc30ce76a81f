// Package hosting holds tests only: it puts a guarded repository behind the servers that
// people have (openssh, gitolite, nginx with git http-backend, a forge's delegates, one
// long-lived parent, several users of one machine) and checks whom the audit names as the
// pusher (ID-2 to ID-4, AUD-2).
package hosting
