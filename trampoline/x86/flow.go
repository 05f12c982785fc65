package x86

// flowOf classifies an instruction whose opcode, ModRM and displacement are known.
func flowOf(in *Inst, pp int) Flow {
	switch in.Opcode >> 8 {
	case mapLegacy:
		return flowLegacy(in)
	case map0F:
		return flow0F(in, pp)
	}
	return FlowNext
}

// flowLegacy classifies the one-byte map.
func flowLegacy(in *Inst) Flow {
	switch op := byte(in.Opcode); {
	case op >= 0x70 && op <= 0x7F:
		return FlowCond
	case op >= 0xE0 && op <= 0xE3, op == 0xC7 && in.RelLen != 0:
		return FlowLoop
	case op == 0xE8:
		return FlowCall
	case op == 0xE9, op == 0xEB:
		return FlowJump
	case op == 0xC2, op == 0xC3:
		return FlowRet
	case op == 0xCD:
		return FlowSyscall
	case op == 0xCA, op == 0xCB, op == 0xCC, op == 0xCF, op == 0xF1, op == 0xF4:
		return FlowStop // far returns, int3, iret, int1, hlt
	case op == 0xFF:
		return [8]Flow{2: FlowCallInd, 3: FlowStop, 4: FlowJumpInd, 5: FlowStop}[in.ModRM>>3&7]
	}
	return FlowNext
}

// flow0F classifies the 0F map.
func flow0F(in *Inst, pp int) Flow {
	switch op := byte(in.Opcode); {
	case op >= 0x80 && op <= 0x8F:
		return FlowCond
	case op == 0x05, op == 0x34:
		return FlowSyscall
	case op == 0x07, op == 0x35, op == 0x0B, op == 0xB9, op == 0xFF, op == 0xAA:
		return FlowStop // sysret, sysexit, ud2, ud1, ud0, rsm
	case op == 0x01 && pp == 2 && in.ModRM == 0xEC:
		return FlowStop // uiret
	}
	return FlowNext
}
