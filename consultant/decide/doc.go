// Package decide is the statistics of the search: it says whether a test of averages holds, how sure that is, and since
// when. It is pure: no clock, no lock, no randomness; the same input gives the same answer.
//
// It imports nothing of the house. A value of its types belongs to one goroutine at a time; functions that only read
// may be called from any.
package decide
