package threadstats

import "github.com/cilium/ebpf/asm"

// argLength is how many bytes a socket has taken or given, or the error, among the arguments of sock_send_length and
// sock_recv_length.
const argLength = 8

// sent and received are the programs of each sending to and receiving from a socket of any family.
func sent(s *shape, m *maps) asm.Instructions     { return transferred(s, m, NetBytesSent) }
func received(s *shape, m *maps) asm.Instructions { return transferred(s, m, NetBytesReceived) }

func transferred(s *shape, m *maps, q Quantity) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.current()
	c.add(
		load(asm.R3, rContext, argLength, asm.DWord),
		asm.LSh.Imm(asm.R3, 32),
		asm.ArSh.Imm(asm.R3, 32),
		asm.JSLE.Imm(asm.R3, 0, "end"),
	)
	c.addTo(q, asm.R3, asm.R1)
	c.leave("end")
	return c.list
}
