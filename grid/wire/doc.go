// Package wire has the commands that a session gives to a daemon and the events that come back, as plain data, and the
// codec that writes them to a stream. With it the daemon can be in another process, or on another machine.
//
// Commands and batches of events are numbered, each in its own direction, from 1. A receiver applies them in the order of
// their numbers (Order), so that a link may delay or exchange them. All that is read is bounded: a frame that is too long
// or not understood, a number that came before or is missing for too long, is a typed error.
//
// It imports only package grid. It knows neither who measures nor who searches.
package wire
