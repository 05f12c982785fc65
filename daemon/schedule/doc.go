// Package schedule says when each target has its turn. Work that costs little is done for every target in every round; other work is spread over
// rounds, so that what it takes does not grow with the number of targets: with more of them, each has its turn more rarely.
//
// It must not know what is done in a turn, and it reads no clock: whoever asks says what time it is and how much there is to do.
//
// A Schedule has no lock: the lock of whoever owns the targets guards it. Beats never change.
package schedule
