// Package survey says what can be measured of a process, and how, without putting anything into it.
//
// It must not know how values are read: whoever asks says what stack samples tell. A survey of a target reads its
// program, which must not change meanwhile: whoever asks holds what guards it. Limits may be called from any goroutine.
package survey
