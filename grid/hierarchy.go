package grid

import (
	"fmt"
	"strings"
)

// A Hierarchy is one of the fixed resource trees. A focus selects one node from each.
type Hierarchy uint8

// The hierarchies in their fixed order.
const (
	Code       Hierarchy = iota // /Code/<module>/<function>[/<loop>]
	Machine                     // /Machine/<host>[/<cpu>]
	Process                     // /Process/<exe{pid}>/<thr_tid{start}>
	SyncObject                  // /SyncObject/<kind>/<object>
	IO                          // /IO/<kind>/<path or peer>
	Memory                      // /Memory/..

	// NumHierarchies is their number.
	NumHierarchies

	// Defined stands behind them for the hierarchies that PCL texts define: /<hierarchy>/<item>. See defined.go.
	Defined = NumHierarchies
)

var hierarchyNames = [NumHierarchies]string{"Code", "Machine", "Process", "SyncObject", "IO", "Memory"}

// String is the name of the root as written in a focus, without the slash.
func (h Hierarchy) String() string {
	switch {
	case h < NumHierarchies:
		return hierarchyNames[h]
	case h == Defined:
		return "Defined"
	}
	return fmt.Sprintf("Hierarchy(%d)", uint8(h))
}

// ParseHierarchy is the inverse of String. The error lists the names there are.
func ParseHierarchy(name string) (Hierarchy, error) {
	for h, n := range hierarchyNames {
		if n == name {
			return Hierarchy(h), nil
		}
	}
	return 0, fmt.Errorf("found the hierarchy %s, expected %s", quote(name), hierarchyList())
}

// MarshalText writes the name.
func (h Hierarchy) MarshalText() ([]byte, error) {
	if h >= NumHierarchies {
		return nil, fmt.Errorf("no such hierarchy: %d", uint8(h))
	}
	return []byte(h.String()), nil
}

// UnmarshalText reads the name.
func (h *Hierarchy) UnmarshalText(text []byte) error {
	v, err := ParseHierarchy(string(text))
	if err == nil {
		*h = v
	}
	return err
}

func hierarchyList() string {
	return "one of " + strings.Join(hierarchyNames[:], ", ")
}

// quote makes text of unknown origin fit for an error message: printable and short.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return fmt.Sprintf("%+q..", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}
