package debuginfo

import (
	"bytes"
	"debug/dwarf"

	"culprit/daemon/image/lazy"
)

// maxInlineEntries bounds the entries that are read to see whether a function was inlined: some 0.3 µs each.
const maxInlineEntries = 4 << 20

// A Query is a name that somebody has given to a function.
type Query struct {
	Word    string                    // that the linker's name holds, and DWARF
	Linkage func(linkage string) bool // whether a linkage name is meant
	Name    func(name string) bool    // whether a name without scopes is meant
}

// Inlined tells whether DWARF describes a function that a query means and that has no code of its own, and in how many places its code
// stands in other functions (0: nothing calls it). A program whose DWARF holds very many entries is looked through in part.
func (n *Info) Inlined(q Query) (places int, ok bool) {
	var err error
	defer lazy.Guard(&err, n.file.Name())
	x := n.Units()
	d := x.Entries(maxInlineEntries)
	if q.Word == "" || d == nil || !bytes.Contains(x.sections[".debug_str"], []byte(q.Word)) && !bytes.Contains(x.sections[".debug_info"], []byte(q.Word)) {
		return 0, false
	}
	s := inlineSearch{q: q, d: d, named: map[dwarf.Offset]bool{}, origins: map[dwarf.Offset]int{}}
	for _, off := range x.Roots() {
		if s.unit(off) != nil {
			break
		}
	}
	for _, off := range s.abstract {
		if !s.code[off] {
			places, ok = places+s.origins[off], true
		}
	}
	return places, ok
}

// InlinedToo is in how many places of other functions the code of a function stands besides its own, as far as DWARF tells: calls from there
// do not come by its entry. The first question reads the entries of all units, as far as Inlined does; what it found is kept.
// addr is where its own code begins, linkage its linkage name without what compilers add for copies.
func (n *Info) InlinedToo(addr uint64, linkage string) int {
	c, err := n.inlines.Get(n.file.Name(), n.countInlined)
	if err != nil || c == nil {
		return 0
	}
	places := c.at[addr]
	if linkage != "" {
		places = max(places, c.named[linkage])
	}
	return places
}

// inlineCounts are the places in which functions were inlined: of those that other source files may call by their linker's names, since
// each file has its own description of them, of others by the addresses of their own code.
type inlineCounts struct {
	named map[string]int
	at    map[uint64]int
}

func (n *Info) countInlined() (c *inlineCounts, err error) {
	defer lazy.Guard(&err, n.file.Name())
	x := n.Units()
	d := x.Entries(maxInlineEntries)
	if d == nil {
		return nil, nil
	}
	origins, code := map[dwarf.Offset]int{}, map[dwarf.Offset][]uint64{}
	for _, off := range x.Roots() {
		if d.eachBelow(off, func(e *dwarf.Entry) {
			origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
			low, placed := e.Val(dwarf.AttrLowpc).(uint64)
			switch {
			case !ok:
			case e.Tag == dwarf.TagInlinedSubroutine && (!placed || x.At(low) != nil): // the linker leaves out functions that it has already
				origins[origin]++
			case e.Tag == dwarf.TagSubprogram:
				code[origin] = append(code[origin], d.Starts(e)...)
			}
		}) != nil {
			break
		}
	}
	c = &inlineCounts{named: map[string]int{}, at: map[uint64]int{}}
	d.left = maxInlineEntries
	for origin, places := range origins {
		if name := d.externalName(origin); name != "" {
			c.named[name] += places
			continue
		}
		for _, addr := range code[origin] {
			c.at[addr] = places
		}
	}
	return c, nil
}

// externalName is the linker's name of a function that other source files may call; "" of others.
func (d *Entries) externalName(off dwarf.Offset) (name string) {
	chain, err := d.Chain(off)
	external := false
	for _, e := range chain {
		linkage, _ := e.Val(dwarf.AttrLinkageName).(string)
		if linkage == "" && name == "" {
			linkage = NameOf(e)
		}
		if linkage != "" {
			name = linkage
		}
		ext, _ := e.Val(dwarf.AttrExternal).(bool)
		external = external || ext
	}
	if err != nil || !external {
		return ""
	}
	return name
}

// An inlineSearch looks for descriptions of functions that are inlined.
type inlineSearch struct {
	q        Query
	d        *Entries
	named    map[dwarf.Offset]bool // functions, and declarations of them, that the question means
	abstract []dwarf.Offset        // those of them that are inlined in some place or in none
	origins  map[dwarf.Offset]int  // of inlined code, by how often it is there
	code     map[dwarf.Offset]bool // functions of which there is a copy with code of its own
}

// unit reads all entries of a unit.
func (s *inlineSearch) unit(root dwarf.Offset) error {
	return s.d.eachBelow(root, func(e *dwarf.Entry) {
		switch e.Tag {
		case dwarf.TagSubprogram:
			s.subprogram(e)
		case dwarf.TagInlinedSubroutine:
			if off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
				s.origins[off]++
			}
		}
	})
}

// subprogram notes what an entry says of a function that is asked for.
func (s *inlineSearch) subprogram(e *dwarf.Entry) {
	if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
		if e.Val(dwarf.AttrLowpc) != nil || e.Val(dwarf.AttrRanges) != nil {
			if s.code == nil {
				s.code = map[dwarf.Offset]bool{}
			}
			s.code[origin] = true
		}
		return
	}
	declared, _ := e.Val(dwarf.AttrSpecification).(dwarf.Offset)
	if !s.named[declared] && !s.means(e) {
		return
	}
	s.named[e.Offset] = true
	if e.Val(dwarf.AttrInline) != nil {
		s.abstract = append(s.abstract, e.Offset)
	}
}

// means tells whether the question means a function by its names in DWARF.
func (s *inlineSearch) means(e *dwarf.Entry) bool {
	if linkage, _ := e.Val(dwarf.AttrLinkageName).(string); linkage != "" {
		return s.q.Linkage(linkage)
	}
	name := NameOf(e)
	return name != "" && s.q.Name(name)
}
