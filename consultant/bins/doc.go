// Package bins puts the values of several pairs side by side: readings as they came, one row for each, and histograms of different widths, one row for
// each bin of the widest.
//
// It is pure and has no lock. A Series is a copy, so a histogram may fold while its copy is read.
package bins
