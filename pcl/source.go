package pcl

import "slices"

// A Source is a text of PCL and the name under which errors show it.
type Source struct{ Name, Text string }

// Sources are the texts that the library was made of, in the order of loading: LoadSources makes the same library of them, in another
// process or on another machine.
func (l *Library) Sources() []Source { return slices.Clone(l.defs.Sources) }
