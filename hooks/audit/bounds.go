package audit

import "git-ward/hooks/push"

// Every writer and its reader's bound, in one place: what is written is never
// larger than what is read, so no number of pushes makes the repository unreadable
// (GATE-6). The readers' bounds are wider, because versions before these bounds
// wrote more, and what they left must stay readable.
//
//	what                     written at most                    read at most
//	refs of one push         MaxRefs, MaxRefBytes as text       the same, at arrival
//	refs of a refusal        maxRefused, maxRefusedAgent        with its record
//	refusals of one agent    maxDistinct an hour, then counted  one by one
//	record.json              maxRecord                          maxReadRecord
//	one line of a note       maxNoteLine                        MaxReadNote (whole note)
//	a note of the audit      maxNote, then the oldest lines go  MaxReadNote
//	a note of lessons        maxLessons                         MaxReadNote
//	lessons of one push      push.MaxLessonLines, -Bytes        with the pending file
//	a pending file           maxPending                         maxPending
//	the pending directory       one a push under way               maxPendingFiles at once
//	ids that are retired     comms.Set's own bound              the same
//	config.toml of a record  the settings, by package config    MaxConfig
//	the count of refusals    one line                           maxRepeatsFile
//	refusals by pusher       maxPushers lines                   maxHourFile
//	a reflog                 git's                              its end since admission, line by line
const (
	// MaxRefs bounds the refs of one push, and MaxRefBytes their size in its record (SizeOf
	// each).
	MaxRefs     = 4000
	MaxRefBytes = 2 << 20
	// maxRefused bounds the refs that a refusal's record names.
	maxRefused = 500
	// maxRefusedAgent is the same for the agent, because the audit never shrinks.
	maxRefusedAgent = 16

	maxRecord     = 4 << 20
	maxReadRecord = 64 << 20

	maxNoteLine = 4 << 10
	maxNote     = 64 << 10
	MaxReadNote = 64 << 20 // bytes

	// What one push may add to refs/notes/lessons is push.MaxLessonLines and
	// push.MaxLessonBytes; a note there holds no more than one push may bring.
	maxLessons = push.MaxLessonBytes

	maxPending      = 32 << 20
	maxPendingFiles = 10_000

	maxRepeatsFile = 64
	maxHourFile    = 1 << 20 // bytes
	MaxConfig      = 1 << 20 // bytes

	maxListed = 200  // rules, and findings let pass, that a record lists
	maxWord   = 1100 // bytes of one of them: RULE:PATH
)
