package resume

// archX86_64 is AUDIT_ARCH_X86_64, by which filters know the architecture of a call.
const archX86_64 = 0xc000003e
